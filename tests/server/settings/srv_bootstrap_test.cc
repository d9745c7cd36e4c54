// The members of a new cluster, from SRV records.
#include "server/process/bootstrap/srv_bootstrap.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

namespace kvorum::server {
namespace {

using testing::HasSubstr;

class SrvBootstrapTest : public testing::Test {
 protected:
  SrvBootstrapTest() {
    options_.name = "a";
    options_.discovery_srv = "example.com";
    options_.initial_advertise_peer_urls = "http://a.example.com:2380";
    hosts_ = {{"a.example.com", "10.0.0.1"},
              {"b.example.com", "10.0.0.2"},
              {"c.example.com", "10.0.0.3"},
              {"10.0.0.1", "10.0.0.1"}};
  }

  std::string Find() {
    const auto found = InitialClusterFromDns(
        options_,
        {.records = [this](std::string_view service,
                           std::string_view domain) -> Result<std::vector<SrvRecord>> {
           EXPECT_EQ(domain, "example.com");
           const auto it = records_.find(std::string(service));
           if (it == records_.end())
             return Fail(Code::kUnavailable, "lookup " + std::string(service) + ": no such host");
           return it->second;
         },
         .address = [this](const std::string& host, std::uint16_t port) -> Result<std::string> {
           const auto it = hosts_.find(host);
           if (it == hosts_.end()) return Fail(Code::kUnavailable, "lookup " + host);
           return it->second + ":" + std::to_string(port);
         }});
    return found.has_value() ? *found : "failed: " + found.error().message;
  }

  static SrvRecord At(std::string host, std::uint16_t port = 2380) {
    return {.port = port, .target = std::move(host)};
  }

  Options options_;
  std::map<std::string, std::vector<SrvRecord>> records_;
  std::map<std::string, std::string> hosts_;
};

TEST_F(SrvBootstrapTest, ThisMemberIsKnownByItsAddressAndOthersAreNumbered) {
  records_["etcd-server"] = {At("b.example.com"), At("a.example.com"), At("c.example.com", 99)};
  EXPECT_EQ(Find(),
            "0=http://b.example.com:2380,a=http://a.example.com:2380,1=http://c.example.com:99");
}

TEST_F(SrvBootstrapTest, TheAdvertisedUrlMayHaveTheAddressItself) {
  options_.initial_advertise_peer_urls = "http://10.0.0.1:2380";
  records_["etcd-server"] = {At("a.example.com")};
  EXPECT_EQ(Find(), "a=http://a.example.com:2380");
}

TEST_F(SrvBootstrapTest, BothServicesCountThatWithTlsFirst) {
  options_.initial_advertise_peer_urls = "https://a.example.com:2380";
  records_["etcd-server-ssl"] = {At("a.example.com")};
  records_["etcd-server"] = {At("b.example.com")};
  EXPECT_EQ(Find(), "a=https://a.example.com:2380,0=http://b.example.com:2380");
}

TEST_F(SrvBootstrapTest, TheNameOfTheServiceMayHaveASuffix) {
  options_.discovery_srv_name = "x";
  records_["etcd-server-x"] = {At("a.example.com")};
  EXPECT_EQ(Find(), "a=http://a.example.com:2380");
}

TEST_F(SrvBootstrapTest, AMemberThatIsNotAmongTheRecordsCannotStart) {
  records_["etcd-server"] = {At("b.example.com")};
  EXPECT_EQ(Find(), "failed: cannot find local etcd member \"a\" in SRV records");
}

TEST_F(SrvBootstrapTest, TheSchemesMustAgree) {
  records_["etcd-server-ssl"] = {At("a.example.com")};
  EXPECT_THAT(Find(),
              HasSubstr("error querying DNS SRV records for _etcd-server-ssl bootstrap at "
                        "https://a.example.com:2380 from DNS for etcd-server-ssl has scheme "
                        "mismatch with expected peer http://a.example.com:2380"));
}

TEST_F(SrvBootstrapTest, HostsWithoutAnAddressAreLeftOut) {
  records_["etcd-server"] = {At("gone.example.com"), At("a.example.com")};
  EXPECT_EQ(Find(), "a=http://a.example.com:2380");
}

TEST_F(SrvBootstrapTest, WithoutRecordsBothFaultsAreTold) {
  const std::string said = Find();
  EXPECT_THAT(said, HasSubstr("_etcd-server-ssl lookup etcd-server-ssl: no such host"));
  EXPECT_THAT(said, HasSubstr("_etcd-server lookup etcd-server: no such host"));
}

TEST_F(SrvBootstrapTest, WithoutACaOfTheirOwnMembersMustProveToBelongToTheDomain) {
  options_.initial_cluster = "a=http://a.example.com:2380,b=https://b.example.com:2380";
  EXPECT_EQ(PeerServerName(options_), "example.com");
  options_.peer_trusted_ca_file = "ca.crt";
  EXPECT_EQ(PeerServerName(options_), "");
  options_.peer_trusted_ca_file.clear();
  options_.initial_cluster = "a=http://a.example.com:2380";
  EXPECT_EQ(PeerServerName(options_), "");
}

}  // namespace
}  // namespace kvorum::server
