// The client port's flags of TLS, as they reach the files and rules that connections are judged by.
#include "server/process/certificates/client_tls.h"

#include <gtest/gtest.h>

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "tests/disk/sim_file_system.h"
#include "tests/rpc/certificates.h"
#include "tests/server/replica/log_file.h"
#include "tests/server/settings/command_line.h"

namespace kvorum::server {
namespace {

class ClientTlsFlagsTest : public testing::Test {
 protected:
  ClientTlsFlagsTest() {
    ca_.Write(folder_.path("ca.pem"));
    ca_.Issue({.dns_names = {"localhost"}})
        .Write(folder_.path("server.pem"), folder_.path("server.key"));
  }
  // With these flags in addition.
  Result<std::shared_ptr<rpc::TlsContext>> Open(const std::vector<std::string>& flags) {
    std::vector<const char*> arguments;
    for (const std::string& flag : flags) arguments.push_back(flag.c_str());
    const auto parsed = ParseCommandLine(arguments, {});
    EXPECT_TRUE(parsed.has_value());
    return OpenClientTls(fs_, parsed->options, std::time(nullptr));
  }
  std::vector<std::string> Mutual() {
    return {"--cert-file=" + folder_.path("server.pem"), "--key-file=" + folder_.path("server.key"),
            "--trusted-ca-file=" + folder_.path("ca.pem"), "--client-cert-auth"};
  }

  TestFolder folder_;
  TestAuthority ca_{"ca"};
  SimFileSystem fs_;
  LogFile log_;
};

// A list with an empty name allows no client, as in etcd. Without the flag all are allowed.
TEST_F(ClientTlsFlagsTest, AnAllowedHostnameThatIsEmptyIsNotLeftOut) {
  auto flags = Mutual();
  EXPECT_TRUE((*Open(flags))->options().allowed_hostnames.empty());
  flags.emplace_back("--client-cert-allowed-hostname=");
  EXPECT_EQ((*Open(flags))->options().allowed_hostnames, std::vector<std::string>{""});
  EXPECT_EQ(log_.LinesWith("--client-cert-allowed-hostname has an empty name").size(), 1U);
}

// Flags that verify have no effect with a certificate that the server makes, nor without an
// authority: etcd says nothing of it.
TEST_F(ClientTlsFlagsTest, FlagsWithoutEffectAreWarnedOf) {
  // Its files are on the simulated disk, where OpenSSL does not find them.
  EXPECT_FALSE(Open({"--auto-tls", "--client-cert-auth"}).has_value());
  EXPECT_EQ(log_.LinesWith("clients are not verified with --auto-tls").size(), 1U);
  const auto unverified =
      Open({"--cert-file=" + folder_.path("server.pem"), "--key-file=" + folder_.path("server.key"),
            "--client-cert-allowed-hostname=a"});
  ASSERT_TRUE(unverified.has_value());
  EXPECT_EQ(log_.LinesWith("clients show no certificate").size(), 1U);
}

}  // namespace
}  // namespace kvorum::server
