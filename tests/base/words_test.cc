#include "base/words.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvorum {
namespace {

using testing::ElementsAre;
using testing::Eq;
using testing::Optional;
using testing::Pair;

TEST(WordsTest, TrimTakesBlanksFromBothEnds) {
  EXPECT_EQ(Trim(" \t\n\r\v\fa b\f\v "), "a b");
  EXPECT_EQ(Trim("a"), "a");
  EXPECT_EQ(Trim(" \n "), "");
  EXPECT_EQ(Trim(""), "");
  EXPECT_EQ(Trim("\t a ", " "), "\t a") << "only the blanks that it is told of";
}

TEST(WordsTest, CutTakesTheFirstMark) {
  EXPECT_THAT(Cut("a=b=c", '='), Pair("a", Optional(std::string_view("b=c"))));
  EXPECT_THAT(Cut("a=", '='), Pair("a", Optional(std::string_view(""))));
  EXPECT_THAT(Cut("a", '='), Pair("a", Eq(std::nullopt)));
  EXPECT_THAT(Cut("", '='), Pair("", Eq(std::nullopt)));
}

TEST(WordsTest, SplitKeepsEmptyParts) {
  EXPECT_THAT(Split("a,,b,", ','), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(Split("a b", ','), ElementsAre("a b"));
  EXPECT_THAT(Split("", ','), ElementsAre(""));
}

TEST(WordsTest, JoinPutsTheSeparatorBetweenTheParts) {
  using Parts = std::vector<std::string>;
  EXPECT_EQ(Join(Parts{}, ","), "");
  EXPECT_EQ(Join(Parts{"a"}, ", "), "a");
  EXPECT_EQ(Join(Parts{"", "b", ""}, ", "), ", b, ");
}

}  // namespace
}  // namespace kvorum
