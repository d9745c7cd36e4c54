#include "base/net/ip_text.h"

#include <gtest/gtest.h>

namespace kvorum {
namespace {

TEST(IpTextTest, TellsKindsApart) {
  for (const char* text : {"1.2.3.4", "0.0.0.0", "255.255.255.255"})
    EXPECT_EQ(ClassifyIp(text), IpKind::kV4) << text;
  for (const char* text :
       {"::", "::1", "1::", "1:2:3:4:5:6:7:8", "::ffff:1.2.3.4", "1:2:3:4:5:6:7::"})
    EXPECT_EQ(ClassifyIp(text), IpKind::kV6) << text;
  for (const char* text : {"fe80::1%eth0", "::%1", "::1.2.3.4%a:b.c"})
    EXPECT_EQ(ClassifyIp(text), IpKind::kV6WithZone) << text;
}

TEST(IpTextTest, SaysWhatIsWrong) {
  const auto reason = [](const std::string& text) {
    const auto kind = ClassifyIp(text);
    return kind.has_value() ? "taken" : kind.error();
  };
  EXPECT_EQ(reason(""), R"(ParseAddr(""): unable to parse IP)");
  EXPECT_EQ(reason("localhost"), R"(ParseAddr("localhost"): unable to parse IP)");
  EXPECT_EQ(reason("%1"), R"(ParseAddr("%1"): missing IPv6 address)");
  EXPECT_EQ(reason("::%"), R"(ParseAddr("::%"): zone must be a non-empty string)");
  EXPECT_EQ(reason("1.2.3"), R"(ParseAddr("1.2.3"): IPv4 address too short)");
  EXPECT_EQ(reason("1.2.3.04"), R"(ParseAddr("1.2.3.04"): IPv4 field has octet with leading zero)");
  EXPECT_EQ(reason("1..2.3"),
            R"(ParseAddr("1..2.3"): IPv4 field must have at least one digit (at ".2.3"))");
  EXPECT_EQ(reason("1::2::3"), R"(ParseAddr("1::2::3"): multiple :: in address (at ":3"))");
  EXPECT_EQ(reason("1:2:3:4:5:6:7:8:9"),
            R"(ParseAddr("1:2:3:4:5:6:7:8:9"): trailing garbage after address (at "9"))");
}

}  // namespace
}  // namespace kvorum
