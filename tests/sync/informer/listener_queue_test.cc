// The bounds of one listener's queue, which tells everything in the end.
#include "sync/informer/listener_queue.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <variant>

namespace kvorum::sync {
namespace {

ObjectRef ObjectOf(const std::string& key, const std::string& value) {
  return TypedObject<std::string>::Make({.key = key}, value);
}

// A copy that changes, the queue of a listener that sleeps, and what it knows by its notifications.
class QueueOfASleeper : public testing::TestWithParam<OverflowPolicy> {
 protected:
  void Put(const std::string& key, const std::string& value) {
    const ObjectMap before = map_;
    Change change{.before = {}, .after = ObjectOf(key, value)};
    change.before = map_.Put(change.after);
    queue_.Add({&change, 1}, before, map_);
  }
  // A list that was made anew finds another value.
  void Relist(const std::string& key, const std::string& value) {
    const ObjectMap before = map_;
    map_.Put(ObjectOf(key, value));
    queue_.AddDifference(before, map_);
  }
  void Awake() {
    const auto current = [this](std::string_view key) { return map_.Find(key); };
    while (const auto next = queue_.Take(current)) {
      const auto* told = std::get_if<Notification>(&*next);
      ASSERT_NE(told, nullptr);
      if (told->after) known_[std::string(told->after->key())] = told->after;
    }
  }

  ObjectMap map_;
  ListenerQueue queue_{GetParam(), {.changes = 1000, .bytes = 10'000}};
  std::map<std::string, ObjectRef> known_;
};

TEST_P(QueueOfASleeper, HoldsAFewSnapshotsHoweverOftenAListIsMadeAnew) {
  Put("fixed", "x");
  for (int i = 0; i < 100 && !queue_.blocks(); ++i) {
    Put("a", std::to_string(i));
    Relist("b", std::to_string(i));
  }
  EXPECT_LE(queue_.size(), 2 * ListenerQueue::kMaxWalks + 2);
  EXPECT_EQ(queue_.blocks(), GetParam() == OverflowPolicy::kBlock);
  Awake();
  EXPECT_EQ(queue_.size_bytes(), 0U);
  EXPECT_FALSE(queue_.is_full());
  for (const std::string key : {"a", "b", "fixed"}) EXPECT_EQ(known_[key], map_.Find(key)) << key;
}

TEST_P(QueueOfASleeper, HoldsItsBytesAndTheChangesOfARevision) {
  for (int i = 0; i < 100 && !queue_.blocks(); ++i) Put("a", std::string(1000, 'x'));
  EXPECT_LE(queue_.size_bytes(), 10'000U + 3000U);
  Awake();
  EXPECT_EQ(queue_.size_bytes(), 0U);
  EXPECT_EQ(known_["a"], map_.Find("a"));
}

INSTANTIATE_TEST_SUITE_P(OfEveryPolicy, QueueOfASleeper,
                         testing::Values(OverflowPolicy::kBlock, OverflowPolicy::kCoalesce,
                                         OverflowPolicy::kDropAndResync));

}  // namespace
}  // namespace kvorum::sync
