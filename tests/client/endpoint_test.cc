#include "client/endpoint.h"

#include <gtest/gtest.h>

namespace kvorum::client {
namespace {

using Security = Endpoint::Security;

TEST(EndpointTest, EveryFormHasATargetAndSaysWhetherItIsSecure) {
  struct Case {
    const char* text;
    const char* target;
    Security security;
  };
  for (const auto& [text, target, security] : std::initializer_list<Case>{
           {"127.0.0.1:2379", "dns:///127.0.0.1:2379", Security::kAsChosen},
           {"http://host:2379", "dns:///host:2379", Security::kPlain},
           {"http://host:2379/", "dns:///host:2379", Security::kPlain},
           {"https://[::1]:2379", "dns:///[::1]:2379", Security::kTls},
           {"unix:///run/kv.sock", "unix:/run/kv.sock", Security::kAsChosen},
           {"unix://kv.sock", "unix:kv.sock", Security::kAsChosen},
           {"unix:kv.sock", "unix:kv.sock", Security::kAsChosen},
           {"unixs:///run/kv.sock", "unix:/run/kv.sock", Security::kTls},
       }) {
    const Endpoint endpoint = ParseEndpoint(text);
    EXPECT_EQ(endpoint.target, target) << text;
    EXPECT_EQ(endpoint.security, security) << text;
  }
}

}  // namespace
}  // namespace kvorum::client
