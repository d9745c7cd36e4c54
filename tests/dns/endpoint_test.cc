#include "dns/endpoint.h"

#include <gtest/gtest.h>

#include <string>

namespace kvorum::dns {
namespace {

constexpr Ipv4 kV4 = {10, 0, 0, 1};
constexpr Ipv6 kV6 = {0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};

TEST(DnsEndpoint, AnAddressIsReadWithAndWithoutAPort) {
  EXPECT_EQ(std::get<Ipv4>(ParseEndpoint("10.0.0.1:80")->host), kV4);
  EXPECT_EQ(ParseEndpoint("10.0.0.1:80")->port, 80);
  EXPECT_EQ(std::get<Ipv4>(ParseEndpoint("10.0.0.1")->host), kV4);
  EXPECT_EQ(ParseEndpoint("10.0.0.1")->port, 0);
  EXPECT_EQ(std::get<Ipv6>(ParseEndpoint("[2001:db8::1]:65535")->host), kV6);
  EXPECT_EQ(ParseEndpoint("[2001:db8::1]:65535")->port, 65535);
  EXPECT_EQ(std::get<Ipv6>(ParseEndpoint("[2001:db8::1]")->host), kV6);
  EXPECT_EQ(std::get<Ipv6>(ParseEndpoint("2001:db8::1")->host), kV6);
  EXPECT_EQ(ParseEndpoint("2001:db8::1")->port, 0);
}

TEST(DnsEndpoint, AHostNameIsReadAsItsLabels) {
  EXPECT_EQ(std::get<Name>(ParseEndpoint("db.example.org:5432")->host),
            (Name{"db", "example", "org"}));
  EXPECT_EQ(ParseEndpoint("db.example.org:5432")->port, 5432);
  EXPECT_EQ(std::get<Name>(ParseEndpoint("localhost")->host), Name{"localhost"});
  EXPECT_EQ(std::get<Name>(ParseEndpoint("a_b-c.d.:1")->host), (Name{"a_b-c", "d"}));
}

TEST(DnsEndpoint, AnythingElseIsNone) {
  for (const std::string value : {"",
                                  ":80",
                                  "10.0.0.1:",
                                  "10.0.0.1:0",
                                  "10.0.0.1:65536",
                                  "10.0.0.1:+80",
                                  "10.0.0.1:80x",
                                  "10.0.0",
                                  "10.0.0.256:80",
                                  "[10.0.0.1]:80",
                                  "[::1",
                                  "::1]:80",
                                  "[]:80",
                                  "a..b:80",
                                  ".:80",
                                  "http://a:80/",
                                  "a b:80",
                                  "ä:80",
                                  "{\"host\":\"a\"}",
                                  "1:2:3:80"})
    EXPECT_FALSE(ParseEndpoint(value)) << value;
  EXPECT_FALSE(ParseEndpoint(std::string("10.0.0.1\0:80", 12)));
  EXPECT_FALSE(ParseEndpoint(std::string(64, 'a')));
  EXPECT_TRUE(ParseEndpoint(std::string(63, 'a')));
  std::string longest;
  while (longest.size() < 252) longest += "a.";
  EXPECT_TRUE(ParseEndpoint(longest + "a"));
  EXPECT_FALSE(ParseEndpoint(longest + "aa"));
  EXPECT_FALSE(ParseEndpoint(std::string(1 << 20, 'a')));
}

}  // namespace
}  // namespace kvorum::dns
