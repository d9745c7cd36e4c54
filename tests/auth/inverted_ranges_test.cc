#include "auth/inverted_ranges.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace kvorum::auth {
namespace {

// "key", "key..end" or "key.." for all from the key on.
Permission ParseRange(const std::string& text) {
  const std::size_t dots = text.find("..");
  Permission range{PermissionType::kRead, text.substr(0, dots), ""};
  if (dots == std::string::npos) return range;
  range.range_end = text.substr(dots + 2);
  if (range.range_end.empty()) range.range_end = std::string(1, '\0');
  return range;
}

// Each line has the ranges of permissions in the order of their insertion, a bar, and the answers
// of etcd 3.7.1's tree (its package adt) for ranges that end before they begin.
TEST(InvertedRangesTest, AnswersAsEtcdsTree) {
  std::ifstream table(KVORUM_AUTH_TABLES "/inverted_ranges_table.txt");
  std::size_t answers = 0;
  for (std::string line; std::getline(table, line);) {
    SCOPED_TRACE(line);
    std::istringstream words(line);
    std::vector<Permission> permissions;
    std::string word;
    while (words >> word && word != "|") permissions.push_back(ParseRange(word));
    std::vector<const Permission*> pointers;
    for (const Permission& permission : permissions) pointers.push_back(&permission);
    const InvertedRanges ranges(pointers);
    while (words >> word) {
      const std::size_t equals = word.find('=');
      const Permission asked = ParseRange(word.substr(0, equals));
      ASSERT_TRUE(IsInverted(asked.key, asked.range_end));
      EXPECT_EQ(ranges.MayRead(asked.key, asked.range_end), word.substr(equals + 1) == "yes")
          << word;
      EXPECT_FALSE(ranges.MayWrite(asked.key, asked.range_end));
      ++answers;
    }
  }
  EXPECT_GT(answers, 500);
}

TEST(InvertedRangesTest, WhatIsInverted) {
  EXPECT_TRUE(IsInverted("b", "a"));
  EXPECT_FALSE(IsInverted("b", "b"));
  EXPECT_FALSE(IsInverted("b", ""));
  EXPECT_FALSE(IsInverted("b", std::string_view("\0", 1)));
  EXPECT_TRUE(IsInverted("b", std::string_view("\0\0", 2)));
}

TEST(InvertedRangesTest, WithoutPermissionsNothingIsLetThrough) {
  EXPECT_FALSE(InvertedRanges({}).MayRead("b", "a"));
}

}  // namespace
}  // namespace kvorum::auth
