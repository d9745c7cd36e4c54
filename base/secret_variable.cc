#include "base/secret_variable.h"

#include <algorithm>

namespace kvorum {

bool IsSecretVariable(std::string_view variable) {
  const std::size_t equals = std::min(variable.find('='), variable.size());
  const std::string_view name = variable.substr(0, equals);
  if (!name.starts_with("ETCDCTL_") && !name.starts_with("ETCD_")) return false;
  if (name.ends_with("_PASSWORD") || name.ends_with("_TOKEN")) return true;
  return name.ends_with("_USER") && variable.substr(equals).contains(':');
}

}  // namespace kvorum
