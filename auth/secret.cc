#include "auth/secret.h"

#include <openssl/crypto.h>

namespace kvorum::auth {

Secret::~Secret() {
  if (!bytes_.empty()) OPENSSL_cleanse(bytes_.data(), bytes_.size());
}

}  // namespace kvorum::auth
