// Durations as Go writes them.
#include "base/text/duration_text.h"

#include <gtest/gtest.h>

#include <chrono>
#include <initializer_list>
#include <string>
#include <utility>

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

TEST(DurationTest, ReadsNumbersToTheNanosecond) {
  EXPECT_EQ(ParseDuration("1h2m3.5s"), 1h + 2min + 3500ms);
  EXPECT_EQ(ParseDuration("-1.5us"), -1500ns);
  EXPECT_EQ(ParseDuration("1.000000001s"), 1s + 1ns);
  EXPECT_EQ(ParseDuration("0.1234567899s"), 123'456'789ns);
  EXPECT_EQ(ParseDuration("9223372036854775807ns"), std::chrono::nanoseconds::max());
  EXPECT_EQ(ParseDuration("0.00000000000000000000000000001h1s"), 1s);
}

TEST(DurationTest, RefusesAnythingElse) {
  for (const auto& [text, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", "invalid duration"},
           {"-", "invalid duration"},
           {"--1s", "invalid duration"},
           {"s", "invalid duration"},
           {"s1", "invalid duration"},
           {".s", "invalid duration"},
           {"nans", "invalid duration"},
           {"infs", "invalid duration"},
           {"3000000h", "invalid duration"},
           {"9999999h", "invalid duration"},
           {"9223372036854775808ns", "invalid duration"},
           {"99999999999999999999s", "invalid duration"},
           {"2562047h2562047h", "invalid duration"},
           {"1", "missing unit in duration"},
           {"10", "missing unit in duration"},
           {"1.2.3s", "missing unit in duration"},
           {"1h2", "missing unit in duration"},
           {"1x", "unknown unit \"x\" in duration"},
           {"1 s", "unknown unit \" s\" in duration"},
           {"1s ", "unknown unit \"s \" in duration"},
           {"1ss", "unknown unit \"ss\" in duration"},
           {"1e3s", "unknown unit \"e\" in duration"},
           {"0x1s", "unknown unit \"x\" in duration"}}) {
    const auto parsed = ParseDuration(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error(), (Error{Code::kInvalidArgument, "time: " + std::string(why) + " \"" +
                                                                 std::string(text) + "\""}));
  }
}

TEST(DurationTest, PrintsGosNotation) {
  EXPECT_EQ(FormatDuration(0ns), "0s");
  EXPECT_EQ(FormatDuration(999ns), "999ns");
  EXPECT_EQ(FormatDuration(1500ns), "1.5µs");
  EXPECT_EQ(FormatDuration(4405773ns), "4.405773ms");
  EXPECT_EQ(FormatDuration(2s), "2s");
  EXPECT_EQ(FormatDuration(1h + 3500ms), "1h0m3.5s");
  EXPECT_EQ(FormatDuration(-90s), "-1m30s");
}

}  // namespace
}  // namespace kvorum
