#include "sync/store/object_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/rng.h"
#include "sync/store/copy.h"
#include "sync/store/list_merge.h"

namespace kvorum::sync {
namespace {

using Entry = TypedObject<std::string>;
using Model = std::map<std::string, std::string, std::less<>>;

ObjectRef Make(const std::string& key, const std::string& value, std::int64_t revision = 1) {
  return Entry::Make({.key = key, .mod_revision = revision}, value);
}

Model ContentsOf(const ObjectMap& map) {
  Model contents;
  for (auto place = map.Begin(); place.get() != nullptr; place.Next())
    contents.emplace(place.get()->key(), static_cast<const Entry&>(*place.get()).value());
  return contents;
}

TEST(ObjectMapTest, AnObjectHasItsKeyItsNumbersAndItsValue) {
  const auto object = Entry::Make({.key = std::string("a\0b", 3),
                                   .create_revision = 1,
                                   .mod_revision = 2,
                                   .version = 3,
                                   .lease = 4},
                                  std::string_view("v\0", 2));
  EXPECT_EQ(object->key(), std::string_view("a\0b", 3));
  EXPECT_EQ(object->value(), std::string_view("v\0", 2));
  EXPECT_EQ(object->create_revision(), 1);
  EXPECT_EQ(object->mod_revision(), 2);
  EXPECT_EQ(object->version(), 3);
  EXPECT_EQ(object->lease(), 4);
  const auto typed = TypedObject<std::vector<int>>::Make({.key = "k"}, {1, 2});
  EXPECT_EQ(typed->key(), "k");
  EXPECT_THAT(typed->value(), testing::ElementsAre(1, 2));
}

TEST(ObjectMapTest, EqualsAModelUnderRandomOperationsAndSnapshotsDoNotChange) {
  Rng rng(42);
  ObjectMap map;
  Model model;
  std::vector<std::pair<ObjectMap, Model>> snapshots;
  for (int step = 0; step < 60'000; ++step) {
    const std::string key = std::to_string(rng.Below(3000));
    // It grows, shrinks to nothing, and grows again.
    const bool erases = rng.Below(10) < (step / 10'000 % 2 == 0 ? 3u : 8u);
    const auto before = model.find(key);
    const std::string expected = before == model.end() ? "" : before->second;
    const ObjectRef was = erases ? map.Erase(key) : map.Put(Make(key, std::to_string(step)));
    ASSERT_EQ(was ? static_cast<const Entry&>(*was).value() : "", expected);
    if (erases) {
      model.erase(key);
    } else {
      model[key] = std::to_string(step);
    }
    ASSERT_EQ(map.size(), model.size());
    if (step % 1000 == 0) {
      map.CheckInvariants();
      snapshots.emplace_back(map, model);
      if (snapshots.size() > 20) snapshots.erase(snapshots.begin());
    }
  }
  EXPECT_EQ(ContentsOf(map), model);
  for (const auto& [snapshot, then] : snapshots) {
    snapshot.CheckInvariants();
    EXPECT_EQ(ContentsOf(snapshot), then);
  }
  for (int i = 0; i < 4000; ++i) {
    const std::string key = std::to_string(rng.Below(4000));
    const ObjectRef found = map.Find(key);
    EXPECT_EQ(static_cast<bool>(found), model.contains(key));
    const auto place = map.LowerBound(key);
    const auto expected = model.lower_bound(key);
    ASSERT_EQ(place.get() == nullptr, expected == model.end());
    if (place.get() != nullptr) {
      EXPECT_EQ(place.get()->key(), expected->first);
    }
  }
  while (!model.empty()) {
    EXPECT_TRUE(map.Erase(model.begin()->first));
    model.erase(model.begin());
  }
  EXPECT_TRUE(map.empty());
  map.CheckInvariants();
  EXPECT_EQ(map.Begin().get(), nullptr);
}

TEST(ObjectMapTest, KeysInOrderGoInFromEitherEnd) {
  ObjectMap up;
  ObjectMap down;
  for (int i = 0; i < 5000; ++i) {
    up.Put(Make(std::to_string(10'000 + i), "x"));
    down.Put(Make(std::to_string(15'000 - 1 - i), "x"));
  }
  up.CheckInvariants();
  down.CheckInvariants();
  EXPECT_EQ(ContentsOf(up), ContentsOf(down));
}

// S4 and I4 stand on it: the difference that a list makes is that of the two sets.
TEST(ObjectMapTest, AMergedListKeepsWhatIsUnchangedAndTheDifferenceIsThatOfTheSets) {
  Rng rng(7);
  for (int round = 0; round < 50; ++round) {
    ObjectMap before;
    std::map<std::string, KeyValue> list;
    std::map<std::string, std::string> expected;  // "+", "-old", "old>new"
    for (int i = 0; i < 300; ++i) {
      const std::string key = std::to_string(rng.Below(1000));
      const KeyValue kv{.key = key, .value = "v", .mod_revision = 5};
      before.Put(Entry::Make(kv, kv.value));
      list[key] = kv;
      expected.erase(key);
    }
    for (int i = 0; i < 100; ++i) {
      const std::string key = std::to_string(rng.Below(1000));
      const bool was_there = static_cast<bool>(before.Find(key));
      if (rng.OneIn(2)) {
        list[key] = {.key = key, .value = "w", .mod_revision = 9};
        expected[key] = was_there ? "v>w" : "+w";
      } else {
        list.erase(key);
        if (was_there) expected[key] = "-v";
        if (!was_there) expected.erase(key);
      }
    }
    int made = 0;
    ListMerge merge(before, [&](KeyValue&& kv) {
      ++made;
      return ObjectRef(Entry::Make(kv, kv.value));
    });
    for (auto& [key, kv] : list) merge.Add(KeyValue(kv));
    const ObjectMap after = merge.Take();
    std::map<std::string, std::string> seen;
    int changed = 0;
    MapDifference difference(before, after);
    for (Change change = difference.Next(); change.before || change.after;
         change = difference.Next()) {
      if (change.before == change.after) continue;
      if (change.after) ++changed;
      const auto value = [](const ObjectRef& object) {
        return std::string(static_cast<const Entry&>(*object).value());
      };
      const ObjectRef& any = change.after ? change.after : change.before;
      seen[std::string(any->key())] = !change.before ? "+" + value(change.after)
                                      : !change.after
                                          ? "-" + value(change.before)
                                          : value(change.before) + ">" + value(change.after);
    }
    EXPECT_EQ(seen, expected);
    EXPECT_EQ(made, changed);
  }
}

TEST(ObjectMapTest, KeysOutOfOrderAreABrokenInvariant) {
  ObjectMap map;
  const ObjectRef first = Make("a", "1");
  map.Put(first);
  map.Put(Make("b", "1"));
  map.CheckInvariants();
  const_cast<char&>(first->key().front()) = 'c';
  EXPECT_DEATH(map.CheckInvariants(), "keys out of order");
}

TEST(CopyTest, RevisionsThatDoNotAscendAreABrokenInvariant) {
  Copy copy({});
  const Change first{.after = Make("a", "1", 5)};
  copy.Apply(5, std::span(&first, 1));
  copy.CheckInvariants();
  const Change second{.after = Make("b", "1", 4)};
  copy.Apply(4, std::span(&second, 1));
  EXPECT_DEATH(copy.CheckInvariants(), "revisions do not ascend");
}

}  // namespace
}  // namespace kvorum::sync
