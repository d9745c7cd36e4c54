#include "base/utf8.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <utility>

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

TEST(Utf8Test, ReadsAndWritesCodePoints) {
  for (const auto& [text, code_point] :
       {std::pair("a", U'a'), std::pair("\xc3\xa4", U'\u00e4'),
        std::pair("\xe2\x82\xac", U'\u20ac'), std::pair("\xed\x9f\xbf", U'\ud7ff'),
        std::pair("\xf4\x8f\xbf\xbf", U'\U0010ffff')}) {
    const std::string_view bytes = text;
    const Utf8Character read = ReadUtf8(std::string(bytes) + "z");
    EXPECT_TRUE(read.valid) << bytes;
    EXPECT_EQ(read.code_point, code_point) << bytes;
    EXPECT_EQ(read.size_bytes, bytes.size()) << bytes;
    std::string written;
    AppendUtf8(code_point, written);
    EXPECT_EQ(written, bytes);
  }
  const Utf8Character bad = ReadUtf8("\xe2\x82z");
  EXPECT_FALSE(bad.valid);
  EXPECT_EQ(bad.size_bytes, 1u);
  EXPECT_EQ(bad.code_point, U'\ufffd');
  EXPECT_TRUE(IsScalarValue(0xd7ff));
  EXPECT_FALSE(IsScalarValue(0xd800));
  EXPECT_FALSE(IsScalarValue(0x110000));
}

}  // namespace
}  // namespace kvorum
