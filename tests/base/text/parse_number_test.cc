#include "base/text/parse_number.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace kvorum {
namespace {

TEST(ParseNumberTest, TheWholeTextIsTheNumber) {
  EXPECT_EQ(ParseNumber<int>("-12"), -12);
  EXPECT_EQ(ParseNumber<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(ParseNumber<std::uint64_t>("fF", 16), 255);
  EXPECT_EQ(ParseNumber<double>("1.5e3"), 1500);
  for (const char* text : {"", " 1", "1 ", "+1", "1x", "0x1", "1_0", "--1"})
    EXPECT_EQ(ParseNumber<int>(text), std::nullopt) << text;
}

TEST(ParseNumberTest, ANumberThatDoesNotFitIsRefused) {
  EXPECT_EQ(ParseNumber<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(ParseNumber<std::uint64_t>("-1"), std::nullopt);
  EXPECT_EQ(ParseNumber<std::int64_t>("9223372036854775808"), std::nullopt);
}

}  // namespace
}  // namespace kvorum
