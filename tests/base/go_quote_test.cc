#include "base/go_quote.h"

#include <gtest/gtest.h>

namespace kvorum {
namespace {

TEST(GoQuoteTest, EscapesWhatDoesNotPrint) {
  EXPECT_EQ(GoQuote("a\"b\\c"), R"("a\"b\\c")");
  EXPECT_EQ(GoQuote(std::string_view("\n\t\0\x1b\x7f", 5)), R"("\n\t\x00\x1b\x7f")");
  EXPECT_EQ(GoQuote("\xc3\xa4"), "\"\xc3\xa4\"");
  EXPECT_EQ(GoQuote("\xc3"), R"("\xc3")");
}

}  // namespace
}  // namespace kvorum
