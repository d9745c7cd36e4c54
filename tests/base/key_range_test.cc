#include "base/key_range.h"

#include <gtest/gtest.h>

#include <string>

namespace kvorum {
namespace {

using namespace std::string_literals;

TEST(KeyRangeTest, AnEmptyEndIsTheSingleKey) {
  const KeyRange range("b", "");
  EXPECT_TRUE(range.single());
  EXPECT_FALSE(range.open());
  EXPECT_FALSE(range.Contains("a"));
  EXPECT_TRUE(range.Contains("b"));
  EXPECT_FALSE(range.Contains("b\0"s));
}

TEST(KeyRangeTest, AZeroByteIsNoEnd) {
  const std::string zero(1, '\0');
  const KeyRange range("b", zero);
  EXPECT_TRUE(range.open());
  EXPECT_FALSE(range.Contains("a\xff"));
  EXPECT_TRUE(range.Contains("b"));
  EXPECT_TRUE(range.Contains("\xff\xff"));
  EXPECT_FALSE(IsOpenEnd("")) << "a single key";
  EXPECT_FALSE(IsOpenEnd("\0\0"s)) << "a key";
}

TEST(KeyRangeTest, AnotherEndIsExclusive) {
  const KeyRange range("b", "d");
  EXPECT_EQ(range.begin(), "b");
  EXPECT_EQ(range.end(), "d");
  EXPECT_TRUE(range.Contains("cz"));
  EXPECT_FALSE(range.Contains("d"));
}

TEST(KeyRangeTest, AnEndAtOrBeforeTheKeyHoldsNothing) {
  EXPECT_FALSE(KeyRange("b", "b").Contains("b"));
  EXPECT_FALSE(KeyRange("b", "a").Contains("b"));
  EXPECT_FALSE(KeyRange("b", "a").Contains("a"));
}

TEST(PrefixEndTest, IsTheNextKeyThatDoesNotBeginSo) {
  EXPECT_EQ(PrefixEnd("a"), "b");
  EXPECT_EQ(PrefixEnd("ab\xff\xff"), "ac");
  EXPECT_EQ(PrefixEnd("\x7f"), "\x80");
  EXPECT_EQ(PrefixEnd("\xff\xff"), "\0"s) << "there is none: no upper end";
  EXPECT_EQ(PrefixEnd(""), "\0"s);
}

}  // namespace
}  // namespace kvorum
