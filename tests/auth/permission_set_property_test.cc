// The merged set compared with a naive model: every key of a small universe separately.
//
// Keys are words of up to three letters of {\0, a, b}; between any two of them, and after the last,
// are keys for which a longer word stands. So a range counts as covered if every word in it is,
// where the words are one letter longer than the ends of grants and requests.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "auth/permission_set.h"
#include "base/rng.h"

namespace kvorum::auth {
namespace {

using Words = std::vector<std::string>;

Words WordsUpTo(std::size_t letters) {
  Words words = {""};
  for (std::size_t from = 0, length = 0; length < letters; ++length) {
    const std::size_t to = words.size();
    for (; from < to; ++from)
      for (const char letter : {'\0', 'a', 'b'}) words.push_back(words[from] + letter);
  }
  words.erase(words.begin());
  std::ranges::sort(words);
  return words;
}

bool IsIn(std::string_view word, std::string_view key, std::string_view range_end) {
  if (range_end.empty()) return word == key;
  if (range_end == std::string_view("\0", 1)) return word >= key;
  return word >= key && word < range_end;
}

class PermissionModel {
 public:
  explicit PermissionModel(const std::vector<Permission>& permissions, const Words& universe)
      : universe_(universe) {
    for (const std::string& word : universe) {
      for (const Permission& permission : permissions) {
        if (!IsIn(word, permission.key, permission.range_end)) continue;
        if (AllowsRead(permission.type)) read_.insert(word);
        if (AllowsWrite(permission.type)) write_.insert(word);
      }
    }
  }

  bool MayRead(std::string_view key, std::string_view range_end) const {
    return Covers(read_, key, range_end);
  }
  bool MayWrite(std::string_view key, std::string_view range_end) const {
    return Covers(write_, key, range_end);
  }

 private:
  bool Covers(const std::set<std::string>& set, std::string_view key,
              std::string_view range_end) const {
    for (const std::string& word : universe_)
      if (IsIn(word, key, range_end) && !set.contains(word)) return false;
    return true;
  }

  const Words& universe_;
  std::set<std::string> read_;
  std::set<std::string> write_;
};

TEST(PermissionSetPropertyTest, AgreesWithKeyByKey) {
  const Words ends = WordsUpTo(2);
  Words universe = WordsUpTo(3);
  universe.push_back("c");  // behind every end but the open one
  Rng rng(20261122);
  const auto word = [&] { return ends[rng.Below(ends.size())]; };
  std::size_t allowed = 0;
  std::size_t refused = 0;
  for (int round = 0; round < 400; ++round) {
    std::vector<Permission> permissions(rng.Below(7));
    for (Permission& permission : permissions) {
      permission.type = static_cast<PermissionType>(rng.Below(3));
      permission.key = word();
      if (!rng.OneIn(4)) permission.range_end = rng.OneIn(8) ? std::string(1, '\0') : word();
    }
    std::vector<const Permission*> pointers;
    for (const Permission& permission : permissions) pointers.push_back(&permission);
    const PermissionSet set(pointers);
    const PermissionModel model(permissions, universe);
    for (const std::string& key : ends) {
      for (const std::string& range_end : ends) {
        if (range_end != std::string(1, '\0') && range_end <= key) {  // names no key
          const bool all_between = model.MayRead(key, "") && model.MayRead(range_end, key);
          ASSERT_TRUE(!set.MayRead(key, range_end) || all_between);
          if (range_end == key) {
            ASSERT_EQ(set.MayRead(key, range_end), all_between);
          }
          continue;
        }
        ASSERT_EQ(set.MayRead(key, range_end), model.MayRead(key, range_end))
            << "round " << round << " " << ::testing::PrintToString(key) << " "
            << ::testing::PrintToString(range_end);
        ASSERT_EQ(set.MayWrite(key, range_end), model.MayWrite(key, range_end));
        ++(set.MayRead(key, range_end) ? allowed : refused);
      }
      ASSERT_EQ(set.MayRead(key, ""), model.MayRead(key, "")) << ::testing::PrintToString(key);
      ASSERT_EQ(set.MayWrite(key, ""), model.MayWrite(key, "")) << ::testing::PrintToString(key);
    }
    for (const GrantedRanges* ranges : {&set.read(), &set.write()}) {
      for (std::size_t i = 1; i < ranges->ranges().size(); ++i) {
        ASSERT_FALSE(ranges->ranges()[i - 1].open);
        ASSERT_LT(ranges->ranges()[i - 1].end, ranges->ranges()[i].begin);
      }
    }
  }
  EXPECT_GT(allowed, 1000U);
  EXPECT_GT(refused, 1000U);
}

}  // namespace
}  // namespace kvorum::auth
