#include "watch/batch_matches.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace kvorum::watch {
namespace {

struct Change {
  std::string_view key;
};
using Places = std::vector<std::uint32_t>;

class BatchMatchesTest : public testing::Test {
 protected:
  WatchGroup& Watch(std::string_view key, std::string_view range_end, bool synced = true) {
    WatchGroup& group = groups_.Add(KeyRange(key, range_end));
    if (synced) group.synced.push_back(nullptr);
    return group;
  }
  std::map<std::string, Places> Match(const std::vector<Change>& batch) {
    matches_.Find(groups_, batch);
    std::map<std::string, Places> found;
    matches_.TakeEach([&](WatchGroup& group, std::span<const std::uint32_t> places) {
      EXPECT_TRUE(
          found.emplace(group.range().begin(), Places(places.begin(), places.end())).second);
    });
    groups_.ForEach([](const WatchGroup& group) { EXPECT_EQ(group.match, 0); });
    return found;
  }

  RangeIndex<WatchGroup> groups_{1};
  BatchMatches matches_;
};

TEST_F(BatchMatchesTest, EachGroupGetsThePlacesOfItsEvents) {
  Watch("a", "");
  Watch("b", "d");
  EXPECT_EQ(Match({{"c"}, {"a"}, {"x"}, {"b"}, {"a"}}),
            (std::map<std::string, Places>{{"a", {1, 4}}, {"b", {0, 3}}}));
}

TEST_F(BatchMatchesTest, NothingStaysFromTheBatchBefore) {
  Watch("a", "");
  Watch("b", "");
  (void)Match({{"a"}, {"b"}});
  EXPECT_EQ(Match({{"b"}}), (std::map<std::string, Places>{{"b", {0}}}));
  EXPECT_TRUE(Match({{"x"}}).empty());
}

TEST_F(BatchMatchesTest, AGroupWithoutSyncedWatchersIsLeftOut) {
  Watch("a", "", /*synced=*/false);
  EXPECT_TRUE(Match({{"a"}}).empty());
}

}  // namespace
}  // namespace kvorum::watch
