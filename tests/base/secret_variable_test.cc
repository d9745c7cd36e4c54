// Variables that are passwords.
#include "base/secret_variable.h"

#include <gtest/gtest.h>

namespace kvorum {
namespace {

TEST(SecretVariable, PasswordsAndTokensOfOurProgramsAreSecret) {
  for (const char* secret :
       {"ETCDCTL_PASSWORD=x", "ETCDCTL_PASSWORD=", "ETCDCTL_DEST_PASSWORD=x",
        "ETCDCTL_AUTH_JWT_TOKEN=x", "ETCD_DISCOVERY_PASSWORD=x", "ETCDCTL_USER=name:x",
        "ETCDCTL_DEST_USER=name:", "ETCD_DISCOVERY_USER=a:b"})
    EXPECT_TRUE(IsSecretVariable(secret)) << secret;
  for (const char* other :
       {"ETCDCTL_USER=name", "ETCDCTL_ENDPOINTS=http://a:1", "PATH=/bin:/usr/bin", "PASSWORD=x",
        "MY_ETCDCTL_PASSWORD=x", "ETCDCTL_PASSWORD_FILE=/x", "", "=", "ETCD_AUTH_TOKEN_TTL=300"})
    EXPECT_FALSE(IsSecretVariable(other)) << other;
}

}  // namespace
}  // namespace kvorum
