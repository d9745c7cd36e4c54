#include "base/text/go_quote.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>

namespace kvorum {
namespace {

using namespace std::string_literals;

TEST(GoQuoteTest, EscapesWhatDoesNotPrint) {
  EXPECT_EQ(GoQuote("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(GoQuote(std::string_view("\n\t\0\x1b\x7f", 5)), R"("\n\t\x00\x1b\x7f")");
  EXPECT_EQ(GoQuote("\xc3\xa4"), "\"\xc3\xa4\"");
  EXPECT_EQ(GoQuote("\xc3"), R"("\xc3")");
}

TEST(GoQuoteTest, PrintableTextIsLeftAlone) {
  EXPECT_EQ(GoQuote("a b'c"), R"("a b'c")");
  EXPECT_EQ(GoQuote("é世😀"), "\"é世😀\"");
  EXPECT_EQ(GoQuote("\uFFFD"), "\"\uFFFD\"");
}

TEST(GoQuoteTest, TheRestIsEscaped) {
  EXPECT_EQ(GoQuote("\a\b\f\n\r\t\v\\\""), R"("\a\b\f\n\r\t\v\\\"")");
  EXPECT_EQ(GoQuote("\x01\x7f"s), R"("\x01\x7f")");
  EXPECT_EQ(GoQuote("\xff\xc3"), R"("\xff\xc3")");
  EXPECT_EQ(GoQuote("\xed\xa0\x80"), R"("\xed\xa0\x80")") << "a surrogate is not UTF-8";
  EXPECT_EQ(GoQuote("\u00a0\u200b\ufeff"), R"("\u00a0\u200b\ufeff")");
  EXPECT_EQ(GoQuote("\U000f0000"), R"("\U000f0000")");
  EXPECT_EQ(GoQuote("\0"s), R"("\x00")");
}

TEST(GoQuoteTest, UnquoteUndoesQuote) {
  for (const std::string& text : {""s, "plain"s, "\0\n\"\\"s, "\xff\xfe"s, "\u200bé"s})
    EXPECT_EQ(GoUnquote(GoQuote(text)), text);
}

TEST(GoQuoteTest, UnquoteReadsEveryEscape) {
  EXPECT_EQ(GoUnquote(R"("\x41\101\u00e9\U0001f600")"), "AAé😀");
  EXPECT_EQ(GoUnquote("`raw\\n`"), "raw\\n");
}

TEST(GoQuoteTest, MalformedLiteralsAreRefused) {
  for (const std::string_view text :
       {"", "\"", "a", "\"a", "a\"", "\"a\"b\"", R"("\q")", R"("\x4")", R"("\400")", R"("\ud800")",
        "\"a\nb\"", "'a'", R"("\'")", R"("\)", "`a`b`"})
    EXPECT_EQ(GoUnquote(text), std::nullopt) << text;
}

TEST(GoQuoteTest, TheEndOfALiteralIsItsFirstBareQuote) {
  EXPECT_EQ(GoQuotedLength(R"("a\"b" c)"), 6);
  EXPECT_EQ(GoQuotedLength("`a\\` c"), 4);
  EXPECT_EQ(GoQuotedLength("\"a"), std::nullopt);
  EXPECT_EQ(GoQuotedLength("a\"\""), std::nullopt);
}

}  // namespace
}  // namespace kvorum
