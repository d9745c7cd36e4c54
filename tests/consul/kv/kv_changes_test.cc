// Changes of KV move the index of a key or a prefix, and wake those whom they concern.
#include <gtest/gtest.h>

#include "base/rng.h"
#include "consul/kv/prefix_table.h"
#include "consul/kv/tombstones.h"
#include "tests/consul/kv/kv_world.h"

namespace kvorum::consul {
namespace {

TEST(TombstonesTest, TheFloorRisesToWhatIsForgotten) {
  Tombstones stones(1'000);
  stones.Reset(5);
  EXPECT_EQ(stones.OfKey("a"), 5);
  EXPECT_EQ(stones.OfPrefix(""), 5);
  stones.Add("a/1", 7);
  stones.Add("b", 9);
  EXPECT_EQ(stones.OfKey("a/1"), 7);
  EXPECT_EQ(stones.OfPrefix("a/"), 7);
  EXPECT_EQ(stones.OfPrefix("c"), 5);
  EXPECT_EQ(stones.OfPrefix(""), 9);
  for (int i = 0; i < 100; ++i) stones.Add("k" + std::to_string(i), 10 + i);
  EXPECT_LE(stones.size_bytes(), 1'000U);
  EXPECT_GE(stones.floor(), 100);
  EXPECT_EQ(stones.OfKey("a/1"), stones.floor());
  EXPECT_EQ(stones.OfKey("k99"), 109);
}

TEST(TombstonesTest, AKeyThatIsDeletedAgainIsForgottenByItsLastDeletion) {
  Tombstones stones(700);  // four keys
  stones.Reset(0);
  stones.Add("a", 1);
  stones.Add("a", 2);
  stones.Add("b", 3);
  stones.Add("c", 4);
  stones.Add("d", 5);
  EXPECT_EQ(stones.floor(), 1);
  EXPECT_EQ(stones.OfKey("a"), 2);
}

TEST(PrefixTableTest, FindsThePrefixesThatAWalkOverAllFinds) {
  Rng rng(7);
  for (int round = 0; round < 200; ++round) {
    PrefixTable<std::string> table;
    std::set<std::string> all;
    const auto text = [&] {
      std::string made;
      for (std::uint64_t n = rng.Below(7); n > 0; --n)
        made += static_cast<char>('a' + rng.Below(2));
      return made;
    };
    for (int i = 0; i < 12; ++i) {
      const std::string prefix = text();
      table[prefix] = prefix;
      all.insert(prefix);
    }
    const std::string key = text();
    std::set<std::string> found;
    table.VisitPrefixesOf(key, [&](const std::string& prefix) { found.insert(prefix); });
    std::set<std::string> wanted;
    for (const std::string& prefix : all) {
      if (key.starts_with(prefix)) wanted.insert(prefix);
    }
    EXPECT_EQ(found, wanted) << key;
  }
}

class KvBlockingTest : public testing::Test {
 protected:
  KvBlockingTest() { world_.Start(); }
  // A query that waits from the present index on.
  std::shared_ptr<FakeAnswer> Block(const std::string& target) {
    const std::string separator = target.contains('?') ? "&" : "?";
    return world_.Send("GET", target + separator + "index=" + world_.IndexOf(target));
  }

  KvWorld world_;
};

TEST_F(KvBlockingTest, AKeyWakesWhenItChangesAndNotBefore) {
  world_.Put("kv/a", "1");
  const auto answer = Block("kv/a");
  EXPECT_FALSE(answer->is_answered());
  world_.Put("kv/ab", "1");
  world_.Put("kv/", "1");
  world_.Put("kv/a", "1");  // no change
  EXPECT_FALSE(answer->is_answered());
  world_.Put("kv/a", "2");
  ASSERT_TRUE(answer->is_answered());
  EXPECT_EQ(answer->json().at(0).at("Value"), "Mg==");
  EXPECT_EQ(answer->header("X-Consul-Index"), std::to_string(world_.store.revision()));
}

TEST_F(KvBlockingTest, ADeletionWakesAndItsIndexIsHigher) {
  world_.Put("kv/a", "1");
  world_.Put("kv/p/1", "1");
  const auto key = Block("kv/a");
  const auto prefix = Block("kv/p/?recurse");
  world_.Delete("kv/a");
  EXPECT_EQ(key->line(), "404 ");
  EXPECT_EQ(key->header("X-Consul-Index"), std::to_string(world_.store.revision()));
  EXPECT_FALSE(prefix->is_answered());
  world_.Delete("kv/p?recurse");
  EXPECT_EQ(prefix->line(), "404 ");
  EXPECT_EQ(prefix->header("X-Consul-Index"), std::to_string(world_.store.revision()));
  // The index of what was deleted stays when other keys are written.
  const std::string index = world_.IndexOf("kv/p/?keys");
  world_.Put("kv/other", "1");
  EXPECT_EQ(world_.IndexOf("kv/p/?keys"), index);
}

TEST_F(KvBlockingTest, AMissingKeyGoesOnWaitingUntilItIsThere) {
  const auto key = Block("kv/a");
  const auto prefix = Block("kv/p?recurse");
  world_.Put("kv/other", "1");
  world_.Delete("kv/other");
  EXPECT_FALSE(key->is_answered());
  world_.Put("kv/a", "1");
  EXPECT_EQ(key->status, 200U);
  EXPECT_FALSE(prefix->is_answered());
  world_.Put("kv/p/1", "1");
  EXPECT_EQ(prefix->status, 200U);
}

TEST_F(KvBlockingTest, ALowIndexIsAnsweredAtOnceAndAHighOneAtTheEndOfTheWait) {
  world_.Put("kv/a", "1");
  EXPECT_TRUE(world_.Send("GET", "kv/a?index=1")->is_answered());
  const auto future = world_.Send("GET", "kv/a?index=1000&wait=10s");
  world_.Put("kv/a", "2");
  EXPECT_FALSE(future->is_answered());
  world_.executor.Advance(std::chrono::seconds(11));
  ASSERT_TRUE(future->is_answered());
  EXPECT_EQ(future->header("X-Consul-Index"), std::to_string(world_.store.revision()));
}

TEST_F(KvBlockingTest, AChangeBetweenTheReadAndTheWaitIsNotLost) {
  world_.Put("kv/a", "1");
  const std::string index = world_.IndexOf("kv/a");
  world_.store.HoldRanges();
  const auto answer = world_.Send("GET", "kv/a?index=" + index);
  world_.Commit({{"/kvorum/kv/a", "2"}});
  world_.store.LetGo();
  world_.executor.Settle();
  EXPECT_TRUE(answer->is_answered());
}

TEST_F(KvBlockingTest, ALockAndItsReleaseWake) {
  world_.AddAliveNode("n1");
  const std::string session = world_.NewSession();
  world_.Put("kv/a", "1");
  const auto locked = Block("kv/a");
  world_.Put("kv/a?acquire=" + session, "1");
  ASSERT_TRUE(locked->is_answered());
  EXPECT_EQ(locked->json().at(0).at("Session"), session);
  const auto released = Block("kv/a");
  world_.Put("kv/a?release=" + session, "1");
  EXPECT_TRUE(released->is_answered());
}

TEST_F(KvBlockingTest, ACompactionOfTheWatchEndsAllWaits) {
  world_.Put("kv/a", "1");
  const auto key = Block("kv/a");
  const auto missing = Block("kv/none");
  world_.store.Disconnect();
  world_.store.EndWatches({Code::kUnavailable, "lost"});
  world_.Commit({{"/kvorum/kv/b", "1"}});
  world_.store.Compact(world_.Commit({{"/kvorum/kv/b", std::nullopt}}));
  world_.store.Connect();
  world_.executor.Advance(std::chrono::minutes(1));
  EXPECT_TRUE(key->is_answered());
  EXPECT_TRUE(missing->is_answered());
  // A missing key has the index up to which deletions are not known.
  EXPECT_EQ(world_.IndexOf("kv/none"), std::to_string(world_.store.revision()));
}

TEST_F(KvBlockingTest, AStoreThatWentBackEndsAllWaits) {
  world_.Put("kv/a", "1");
  int woken = 0;
  const auto interest = world_.changes.Follow("a", false);
  interest->Wait(1'000, [&] { ++woken; });
  const std::int64_t before = world_.changes.revision();
  world_.changes.Saw(before, before);
  world_.executor.Settle();
  EXPECT_EQ(woken, 0);
  world_.changes.Saw(before - 1, before);
  world_.executor.Settle();
  EXPECT_EQ(woken, 1);
}

TEST_F(KvBlockingTest, FiveThousandWaitOnOneWatchAndAChangeWakesThoseItConcerns) {
  const int watches = world_.store.open_watches();
  std::vector<std::shared_ptr<FakeAnswer>> keys;
  std::vector<std::shared_ptr<FakeAnswer>> prefixes;
  for (int i = 0; i < 2'500; ++i) {
    const std::string name = std::to_string(10'000 + i);
    keys.push_back(world_.Send("GET", "kv/k/" + name + "?index=1000000"));
    prefixes.push_back(world_.Send("GET", "kv/p/" + name + "?recurse&index=1000000"));
  }
  EXPECT_EQ(world_.store.open_watches(), watches);
  EXPECT_EQ(world_.changes.interests(), 5'000U);
  EXPECT_EQ(world_.reading.waiting(), 5'000U);
  // Their index is from the future, so that a change does not end the wait; the interests of the
  // waits that ended are gone.
  world_.executor.Advance(std::chrono::minutes(6));
  EXPECT_EQ(world_.changes.interests(), 0U);
  for (const auto& answer : keys) EXPECT_EQ(answer->status, 404U);
  for (int i = 0; i < 2'500; ++i) {
    const std::string name = std::to_string(10'000 + i);
    keys[static_cast<std::size_t>(i)] = Block("kv/k/" + name);
    prefixes[static_cast<std::size_t>(i)] = Block("kv/p/" + name + "?recurse");
  }
  world_.Commit({{"/kvorum/kv/k/10007", "x"}, {"/kvorum/kv/p/10009/deep", "x"}});
  EXPECT_TRUE(keys[7]->is_answered());
  EXPECT_TRUE(prefixes[9]->is_answered());
  EXPECT_EQ(world_.reading.waiting(), 4'998U);
}

TEST_F(KvBlockingTest, AClientThatLeavesGivesItsInterestBack) {
  auto answer = Block("kv/a");
  EXPECT_EQ(world_.changes.interests(), 1U);
  answer->Leave();
  world_.executor.Settle();
  EXPECT_EQ(world_.changes.interests(), 0U);
}

TEST_F(KvBlockingTest, AWatchThatBreaksGoesOnWhereItWas) {
  world_.Put("kv/a", "1");
  const auto answer = Block("kv/a");
  world_.store.Disconnect();
  world_.store.EndWatches({Code::kUnavailable, "lost"});
  world_.Commit({{"/kvorum/kv/b", "1"}});
  world_.Commit({{"/kvorum/kv/b", std::nullopt}});
  world_.store.Connect();
  world_.executor.Advance(std::chrono::seconds(5));
  EXPECT_FALSE(answer->is_answered());
  EXPECT_EQ(world_.IndexOf("kv/b"), std::to_string(world_.store.revision()));
  world_.Put("kv/a", "2");
  EXPECT_TRUE(answer->is_answered());
}

}  // namespace
}  // namespace kvorum::consul
