#include "base/utf8.h"

#include <gtest/gtest.h>

namespace kvorum {
namespace {

TEST(Utf8Test, TakesWhatTheStandardAllows) {
  for (const char* text : {"", "ascii", "\xc2\x80", "\xc3\xa4", "\xe0\xa0\x80", "\xe2\x82\xac",
                           "\xed\x9f\xbf", "\xee\x80\x80", "\xef\xbf\xbf", "\xf0\x90\x80\x80",
                           "\xf4\x8f\xbf\xbf", "mixed \xe2\x82\xac and \xf0\x9f\x98\x80"}) {
    EXPECT_TRUE(IsValidUtf8(text)) << text;
  }
}

TEST(Utf8Test, RefusesTheRest) {
  for (const char* text :
       {"\x80", "\xbf", "\xc0\x80", "\xc1\xbf", "\xc2", "\xc2 ", "\xe0\x9f\xbf", "\xe2\x82",
        "\xed\xa0\x80", "\xed\xbf\xbf", "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80",
        "\xff", "\xfe", "good \xe2\x82 bad"}) {
    EXPECT_FALSE(IsValidUtf8(text)) << text;
  }
}

TEST(Utf8Test, TellsTheLengthOfTheFirstSequence) {
  EXPECT_EQ(Utf8SequenceLength("a\xc3\xa4"), 1u);
  EXPECT_EQ(Utf8SequenceLength("\xc3\xa4z"), 2u);
  EXPECT_EQ(Utf8SequenceLength("\xe2\x82\xacz"), 3u);
  EXPECT_EQ(Utf8SequenceLength("\xf0\x9f\x98\x80z"), 4u);
  EXPECT_EQ(Utf8SequenceLength(""), 0u);
}

}  // namespace
}  // namespace kvorum
