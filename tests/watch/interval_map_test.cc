// The interval tree against a list of intervals.
#include "watch/interval_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/rng.h"
#include "watch/range_index.h"

namespace kvorum::watch {
namespace {

struct Named {
  explicit Named(const KeyRange& range) : watched(range) {}
  KeyRange range() const { return watched.view(); }
  const WatchedRange watched;
};

using Interval = std::pair<std::string, std::string>;

Interval IntervalOf(const Named& named) {
  return {std::string(named.range().begin()), std::string(named.range().end())};
}

std::string RandomKey(Rng& rng) {
  std::string key;
  for (std::uint64_t length = rng.Below(4); key.size() < length;)
    key.push_back(static_cast<char>('a' + rng.Below(4)));
  return key;
}

TEST(IntervalMapTest, AgreesWithAListOfIntervals) {
  Rng rng(7);
  for (int round = 0; round < 30; ++round) {
    IntervalMap<Named> map(rng());
    std::set<Interval> model;
    for (int step = 0; step < 300; ++step) {
      const Interval interval{RandomKey(rng),
                              rng.OneIn(8) ? std::string(1, '\0') : RandomKey(rng) + "b"};
      const KeyRange range(interval.first, interval.second);
      ASSERT_EQ(map.Find(range) != nullptr, model.contains(interval));
      if (model.contains(interval)) {
        map.Erase(range);
        model.erase(interval);
      } else {
        map.Insert(std::make_unique<Named>(range));
        model.insert(interval);
      }
      ASSERT_TRUE(map.Holds());
      ASSERT_EQ(map.size(), model.size());
      const std::string key = RandomKey(rng);
      std::multiset<Interval> found;
      map.Stab(key, [&](const Named& named) { found.insert(IntervalOf(named)); });
      std::multiset<Interval> expected;
      for (const Interval& each : model) {
        if (KeyRange(each.first, each.second).Contains(key)) expected.insert(each);
      }
      ASSERT_EQ(found, expected) << key;
    }
  }
}

TEST(IntervalMapTest, ManyIntervalsInOrderMakeNoHighTree) {
  IntervalMap<Named> map(1);
  for (int i = 0; i < 100'000; ++i) {
    const std::string begin = std::to_string(1'000'000 + i);
    const std::string end = begin + "~";
    map.Insert(std::make_unique<Named>(KeyRange(begin, end)));
  }
  EXPECT_TRUE(map.Holds());  // recursive: a list would not fit the stack under the sanitizers
  int found = 0;
  map.Stab("1050000x", [&](const Named&) { ++found; });
  EXPECT_EQ(found, 1);
}

TEST(RangeIndexTest, GroupsAreMadeOnceAndFoundByKeyOrRange) {
  RangeIndex<Named> index(1);
  Named& single = index.Add(KeyRange("b", ""));
  Named& range = index.Add(KeyRange("a", "c"));
  Named& open = index.Add(KeyRange("b", std::string_view("\0", 1)));
  EXPECT_EQ(&index.Add(KeyRange("b", "")), &single);
  EXPECT_EQ(&index.Add(KeyRange("a", "c")), &range);
  const auto match = [&](std::string_view key) {
    std::set<const Named*> found;
    index.Match(key, [&](Named& named) { found.insert(&named); });
    return found;
  };
  EXPECT_EQ(match("b"), (std::set<const Named*>{&single, &range, &open}));
  EXPECT_EQ(match("a"), (std::set<const Named*>{&range}));
  EXPECT_EQ(match("bb"), (std::set<const Named*>{&range, &open}));
  index.Remove(single);
  index.Remove(open);
  EXPECT_EQ(match("b"), (std::set<const Named*>{&range}));
  EXPECT_EQ(index.size(), 1U);
}

}  // namespace
}  // namespace kvorum::watch
