// Durations as Go writes them.
#include "base/duration_text.h"

#include <gtest/gtest.h>

namespace kvorum {
namespace {

using namespace std::chrono_literals;

TEST(DurationTest, ReadsGosNotation) {
  EXPECT_EQ(ParseDuration("0"), 0s);
  EXPECT_EQ(ParseDuration("-0"), 0s);
  EXPECT_EQ(ParseDuration("300ms"), 300ms);
  EXPECT_EQ(ParseDuration("1h30m"), 90min);
  EXPECT_EQ(ParseDuration("2h0m0s"), 2h);
  EXPECT_EQ(ParseDuration("1.5s"), 1500ms);
  EXPECT_EQ(ParseDuration(".5s"), 500ms);
  EXPECT_EQ(ParseDuration("1.s"), 1s);
  EXPECT_EQ(ParseDuration("-2s"), -2s);
  EXPECT_EQ(ParseDuration("+2s"), 2s);
  EXPECT_EQ(ParseDuration("7ns"), 7ns);
  EXPECT_EQ(ParseDuration("7us"), 7us);
  EXPECT_EQ(ParseDuration("7\u00b5s"), 7us) << "the micro sign";
  EXPECT_EQ(ParseDuration("7\u03bcs"), 7us) << "the Greek letter";
}

TEST(DurationTest, RefusesAnythingElse) {
  for (const char* text : {"", "-", "s", "1", "10", "1x", "1 s", "1s ", "1.2.3s", "s1", ".s", "1ss",
                           "--1s", "1e3s", "3000000h", "nans", "infs", "0x1s"}) {
    const auto parsed = ParseDuration(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error(), (Error{Code::kInvalidArgument,
                                     "time: invalid duration \"" + std::string(text) + "\""}));
  }
}

}  // namespace
}  // namespace kvorum
