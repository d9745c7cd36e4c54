// Which variables of an environment are passwords: those that kvorum's programs read, and that
// programs they run by themselves have no use for.
#pragma once

#include <string_view>

namespace kvorum {

// `variable` is NAME=VALUE. ETCDCTL_USER is one if it has a password behind its colon.
bool IsSecretVariable(std::string_view variable);

}  // namespace kvorum
