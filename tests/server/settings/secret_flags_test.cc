// A command line as the debugging pages show it.
#include "server/process/settings/secret_flags.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kvorum::server {
namespace {

using testing::ElementsAre;

TEST(SecretFlags, TheirValuesAreHiddenHoweverTheyAreGiven) {
  EXPECT_THAT(WithoutSecrets({"kvorum", "--discovery-password=a=b", "-discovery-password", "c",
                              "--discovery-user", "me:d", "--name", "discovery-password=x"}),
              ElementsAre("kvorum", "--discovery-password=***", "-discovery-password", "***",
                          "--discovery-user", "***", "--name", "discovery-password=x"));
  EXPECT_THAT(WithoutSecrets({"--discovery-password"}), ElementsAre("--discovery-password"));
  EXPECT_THAT(WithoutSecrets({"--discovery-password=", "--", ""}),
              ElementsAre("--discovery-password=***", "--", ""));
}

TEST(SecretFlags, UsersInUrlsAreHidden) {
  EXPECT_THAT(WithoutSecrets({"--discovery=https://me:pass@host/x",
                              "--discovery-endpoints=http://a:1,http://u:p@b:2,http://v@c:3/@",
                              "--initial-cluster", "n1=http://h:1", "mail@example.org"}),
              ElementsAre("--discovery=https://***@host/x",
                          "--discovery-endpoints=http://a:1,http://***@b:2,http://***@c:3/@",
                          "--initial-cluster", "n1=http://h:1", "mail@example.org"));
}

}  // namespace
}  // namespace kvorum::server
