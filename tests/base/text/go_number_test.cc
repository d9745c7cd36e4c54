#include "base/text/go_number.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

namespace kvorum {
namespace {

TEST(GoNumberTest, Integers) {
  EXPECT_EQ(ParseInt("-12", 10), -12);
  EXPECT_EQ(ParseInt("+12", 10), 12);
  EXPECT_EQ(ParseInt("012", 10), 12);
  EXPECT_EQ(ParseInt("7fffffffffffffff", 16), INT64_MAX);
  EXPECT_EQ(ParseInt("-8000000000000000", 16), INT64_MIN);
  EXPECT_EQ(ParseUint("FFFFFFFFFFFFFFFF", 16), UINT64_MAX);
  EXPECT_EQ(ParseUint("4294967295", 10, 32), UINT32_MAX);
}

TEST(GoNumberTest, TheTextNamesItsBase) {
  EXPECT_EQ(ParseInt("0b101", 0), 5);
  EXPECT_EQ(ParseInt("017", 0), 15);
  EXPECT_EQ(ParseInt("0o17", 0), 15);
  EXPECT_EQ(ParseInt("-0X1f", 0), -31);
  EXPECT_EQ(ParseInt("0", 0), 0);
  EXPECT_EQ(ParseInt("1_000", 0), 1000);
  EXPECT_EQ(ParseUint("0x_ff", 0), 255u);
  for (const std::string_view text : {"_1", "1_", "1__0", "0x", "08", "0b2", "0x_", "0xg"})
    EXPECT_FALSE(ParseInt(text, 0)) << text;
}

TEST(GoNumberTest, ErrorsAreThoseOfStrconv) {
  EXPECT_EQ(ParseInt("8000000000000000", 16).error(),
            (Error{Code::kOutOfRange,
                   "strconv.ParseInt: parsing \"8000000000000000\": value out of range"}));
  EXPECT_EQ(
      ParseUint("4294967296", 0, 32).error(),
      (Error{Code::kOutOfRange, "strconv.ParseUint: parsing \"4294967296\": value out of range"}));
  EXPECT_EQ(ParseUint("18446744073709551616", 10).error().code, Code::kOutOfRange);
  EXPECT_EQ(ParseInt("-9223372036854775809", 10).error().code, Code::kOutOfRange);
  EXPECT_EQ(ParseInt("-x", 10).error(),
            (Error{Code::kInvalidArgument, "strconv.ParseInt: parsing \"-x\": invalid syntax"}));
  for (const std::string_view text : {"", "-", "+", "x", "1x", " 1", "0x", "--1", "a"}) {
    EXPECT_FALSE(ParseInt(text, 0)) << text;
    EXPECT_FALSE(ParseInt(text, 10)) << text;
    EXPECT_FALSE(ParseUint(text, 0)) << text;
  }
  for (const std::string_view text : {"+1", "-1", "-0", "0x1f", "1_0"})
    EXPECT_FALSE(ParseUint(text, 10)) << text;
}

TEST(GoNumberTest, Booleans) {
  for (const std::string_view yes : {"1", "t", "T", "true", "TRUE", "True"})
    EXPECT_EQ(ParseBool(yes), true) << yes;
  for (const std::string_view no : {"0", "f", "F", "false", "FALSE", "False"})
    EXPECT_EQ(ParseBool(no), false) << no;
  for (const std::string_view text : {"", "tRUE", "yes", "2", "true "})
    EXPECT_FALSE(ParseBool(text)) << text;
  EXPECT_EQ(
      ParseBool("maybe").error(),
      (Error{Code::kInvalidArgument, "strconv.ParseBool: parsing \"maybe\": invalid syntax"}));
}

}  // namespace
}  // namespace kvorum
