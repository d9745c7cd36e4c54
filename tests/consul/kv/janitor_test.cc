// The janitor ends, removes and clears, with the time in the test's hand.
#include <gtest/gtest.h>

#include "tests/consul/kv/kv_world.h"
#include "tests/sync/forwarding_store.h"

namespace kvorum::consul {
namespace {

using std::chrono::minutes;
using std::chrono::seconds;

constexpr minutes kReapAfter(72);

JanitorParts PartsOf(KvWorld& world, Duration reap_after) {
  return {.copy = world.copy,
          .store = world.store,
          .executor = world.executor,
          .node = "n1",
          .reap_after = reap_after,
          .on_report = [&world](const std::string& text) { world.reports.push_back(text); },
          .seed = 1};
}

// The janitor keeps its lease alive, which in this store no time ends.
class JanitorTest : public testing::Test {
 protected:
  void Start(Duration reap_after = kReapAfter) {
    janitor_ = std::make_unique<Janitor>(PartsOf(world_, reap_after));
    world_.AddAliveNode("n1");
    janitor_->Start();
    world_.Start();
    Pass(seconds(2));
    ASSERT_TRUE(janitor_->is_elected());
  }
  void Pass(Duration d) { world_.executor.Advance(d); }
  void ExpireSession(const std::string& id) {
    world_.store.ExpireLease(world_.store.LeaseOf("/kvorum/registry/session/" + id));
  }
  bool HasSession(const std::string& id) const { return world_.Has("registry/session/" + id); }

  KvWorld world_;
  std::unique_ptr<Janitor> janitor_;
};

TEST_F(JanitorTest, ASessionThatRanOutReleasesItsKeys) {
  Start();
  const std::string id = world_.NewSession(R"({"TTL":"10s"})");
  const std::string other = world_.NewSession();
  for (int i = 0; i < 50; ++i)
    ASSERT_EQ(world_.Put("kv/k" + std::to_string(i) + "?acquire=" + id, "x"), "200 true");
  const Json before = world_.Pair("k7");
  ExpireSession(id);
  Pass(seconds(1));
  EXPECT_EQ(world_.CountOf("kvlock/"), 0U);
  EXPECT_EQ(world_.CountOf("kvdelay/"), 50U);
  const Json after = world_.Pair("k7");
  EXPECT_FALSE(after.contains("Session"));
  EXPECT_GT(after.at("ModifyIndex"), before.at("ModifyIndex"));
  EXPECT_EQ(world_.Put("kv/k7?acquire=" + other), "200 false");
  world_.store.ExpireLease(world_.store.LeaseOf("/kvorum/kvdelay/k7"));
  EXPECT_EQ(world_.Put("kv/k7?acquire=" + other), "200 true");
}

TEST_F(JanitorTest, ABlockedReaderOfALockHearsOfItsEnd) {
  Start();
  const std::string id = world_.NewSession(R"({"TTL":"10s"})");
  world_.Put("kv/a?acquire=" + id, "x");
  const auto answer = world_.Send("GET", "kv/a?index=" + world_.IndexOf("kv/a"));
  ExpireSession(id);
  Pass(seconds(1));
  ASSERT_TRUE(answer->is_answered());
  EXPECT_FALSE(answer->json().at(0).contains("Session"));
}

TEST_F(JanitorTest, ASessionEndsWithItsNodesLifeUnlessItDoesNotLeanOnIt) {
  Start();
  world_.AddAliveNode("n2");
  const std::string plain = world_.NewSession(R"({"Node":"n2"})");
  const std::string with_ttl = world_.NewSession(R"({"Node":"n2","TTL":"1h"})");
  const std::string free = world_.NewSession(R"({"Node":"n2","NodeChecks":[]})");
  const std::string elsewhere = world_.NewSession();
  world_.Die("n2");
  Pass(seconds(1));
  EXPECT_FALSE(HasSession(plain));
  EXPECT_FALSE(HasSession(with_ttl));
  EXPECT_TRUE(HasSession(free));
  EXPECT_TRUE(HasSession(elsewhere));
}

TEST_F(JanitorTest, ASessionEndsWhenACheckTurnsCriticalOrGoes) {
  Start();
  const auto put = [&](Health health) {
    world_.PutService(
        {.node = "n1", .id = "web", .name = "web", .checks = {{.id = "up", .health = health}}});
  };
  put(Health::kPassing);
  const std::string first = world_.NewSession(R"({"Checks":["up"]})");
  const std::string other = world_.NewSession();
  put(Health::kWarning);
  Pass(seconds(1));
  EXPECT_TRUE(HasSession(first));
  put(Health::kCritical);
  Pass(seconds(1));
  EXPECT_FALSE(HasSession(first));
  put(Health::kPassing);
  const std::string second = world_.NewSession(R"({"ServiceChecks":[{"ID":"up"}]})");
  world_.CatalogWorld::Delete(world_.keys.Service("n1", "web"));
  Pass(seconds(1));
  EXPECT_FALSE(HasSession(second));
  EXPECT_TRUE(HasSession(other));
}

TEST_F(JanitorTest, ASessionEndsWithItsNodesRecord) {
  Start();
  world_.PutNode({.node = "ext", .is_external = true});
  const std::string id = world_.NewSession(R"({"Node":"ext","NodeChecks":[]})");
  world_.CatalogWorld::Delete(world_.keys.Node("ext"));
  Pass(seconds(1));
  EXPECT_FALSE(HasSession(id));
}

TEST_F(JanitorTest, ADeadNodeIsReapedWithItsServicesWhenItsTimeIsOver) {
  Start();
  world_.AddAgent("n2", "web");
  world_.AddAliveNode("n3");
  world_.PutNode({.node = "ext", .is_external = true});
  world_.CatalogWorld::Delete(world_.keys.Life("n2"));
  Pass(minutes(71));
  EXPECT_TRUE(world_.Has("registry-dead/n2"));
  EXPECT_TRUE(world_.Has("registry/service/n2/web"));
  Pass(minutes(1) + seconds(1));
  EXPECT_FALSE(world_.Has("registry/node/n2"));
  EXPECT_FALSE(world_.Has("registry/service/n2/web"));
  EXPECT_FALSE(world_.Has("registry-dead/n2"));
  EXPECT_TRUE(world_.Has("registry/node/n1"));
  EXPECT_TRUE(world_.Has("registry/node/n3"));
  EXPECT_TRUE(world_.Has("registry/node/ext"));
  EXPECT_TRUE(world_.reports.empty()) << world_.reports.front();
}

TEST_F(JanitorTest, ANodeThatCameBackIsYoungAgain) {
  Start();
  world_.AddAliveNode("n2");
  world_.Die("n2");
  Pass(minutes(71));
  world_.PutLifeOf("n2");
  Pass(seconds(1));
  EXPECT_FALSE(world_.Has("registry-dead/n2"));
  world_.Die("n2");
  Pass(minutes(71));
  EXPECT_TRUE(world_.Has("registry/node/n2"));
}

TEST_F(JanitorTest, WithoutATimeNothingIsReaped) {
  Start(Duration::zero());
  world_.AddAliveNode("n2");
  world_.Die("n2");
  Pass(minutes(1'000));
  EXPECT_TRUE(world_.Has("registry/node/n2"));
}

TEST_F(JanitorTest, ANodeThatComesBackInTheLastMomentStays) {
  Start();
  world_.AddAliveNode("n2");
  world_.Die("n2");
  Pass(minutes(71));
  world_.store.set_before_write([&] {
    world_.store.set_before_write(nullptr);
    world_.store.Put(world_.keys.Life("n2"), "");
  });
  Pass(minutes(2));
  EXPECT_TRUE(world_.Has("registry/node/n2"));
  EXPECT_FALSE(world_.Has("registry-dead/n2"));
}

TEST_F(JanitorTest, TheNextJanitorGoesOnCounting) {
  Start();
  world_.AddAliveNode("n2");
  world_.Die("n2");
  Pass(minutes(40));
  // The janitor's agent ends, and another one's follows.
  janitor_->Stop();
  janitor_.reset();
  EXPECT_FALSE(world_.Has("registry-janitor"));
  CatalogCopy copy(world_.store, world_.executor, {});
  JanitorParts parts{.copy = copy,
                     .store = world_.store,
                     .executor = world_.executor,
                     .node = "n3",
                     .reap_after = kReapAfter,
                     .seed = 2};
  Janitor next(std::move(parts));
  next.Start();
  copy.Start();
  Pass(minutes(31));
  EXPECT_TRUE(next.is_elected());
  EXPECT_EQ(world_.store.Contents().at("/kvorum/registry-janitor"), "n3");
  EXPECT_TRUE(world_.Has("registry/node/n2"));
  Pass(minutes(1) + seconds(1));
  EXPECT_FALSE(world_.Has("registry/node/n2"));
  next.Stop();
  copy.Stop();
}

// The time of day goes an hour ahead, and two back: nothing comes earlier or later.
TEST_F(JanitorTest, AClockThatIsSetChangesNoDeadline) {
  Start();
  world_.AddAgent("n2", "web");
  const std::string id = world_.NewSession(R"({"TTL":"10s"})");
  const std::string other = world_.NewSession();
  world_.Put("kv/a?acquire=" + id, "x");
  world_.CatalogWorld::Delete(world_.keys.Life("n2"));
  Pass(minutes(30));
  for (const std::chrono::hours jump : {std::chrono::hours(1), std::chrono::hours(-2)}) {
    world_.executor.JumpWall(jump);
    Pass(minutes(20));
    EXPECT_TRUE(world_.Has("registry/node/n2"));
    EXPECT_TRUE(HasSession(id)) << "its lease is the store's";
    EXPECT_EQ(world_.HolderOf("a"), id);
    EXPECT_TRUE(janitor_->is_elected());
  }
  Pass(minutes(1));
  EXPECT_TRUE(world_.Has("registry/node/n2")) << "71 minutes";
  Pass(minutes(1) + seconds(1));
  EXPECT_FALSE(world_.Has("registry/node/n2")) << "72 minutes";
  // A lock-delay is a lease too.
  ExpireSession(id);
  Pass(seconds(1));
  const std::int64_t delay = world_.store.LeaseOf("/kvorum/kvdelay/a");
  EXPECT_EQ(world_.store.leases().at(delay), 15);
  world_.executor.JumpWall(std::chrono::hours(1));
  Pass(seconds(1));
  EXPECT_EQ(world_.Put("kv/a?acquire=" + other, "y"), "200 false");
  world_.store.ExpireLease(delay);
  EXPECT_EQ(world_.Put("kv/a?acquire=" + other, "y"), "200 true");
}

TEST_F(JanitorTest, WhatEndedWhileNobodyLookedIsCleared) {
  world_.AddAliveNode("n1");
  world_.Start();
  const std::string id = world_.NewSession(R"({"TTL":"10s","LockDelay":"0s"})");
  world_.Put("kv/a?acquire=" + id, "x");
  ExpireSession(id);
  CatalogCopy copy(world_.store, world_.executor, {});
  Janitor late({.copy = copy, .store = world_.store, .executor = world_.executor, .seed = 2});
  late.Start();
  copy.Start();
  Pass(seconds(3));
  EXPECT_EQ(world_.CountOf("kvlock/"), 0U);
  late.Stop();
  copy.Stop();
}

TEST_F(JanitorTest, OfManyAgentsOneIsTheJanitorAndAnotherFollowsIt) {
  world_.AddAliveNode("n1");
  world_.Start();
  std::vector<std::unique_ptr<CatalogCopy>> copies;
  std::vector<std::unique_ptr<Janitor>> janitors;
  for (std::uint64_t i = 0; i < 20; ++i) {
    copies.push_back(
        std::make_unique<CatalogCopy>(world_.store, world_.executor, CatalogCopy::Options{}));
    janitors.push_back(std::make_unique<Janitor>(JanitorParts{.copy = *copies.back(),
                                                              .store = world_.store,
                                                              .executor = world_.executor,
                                                              .node = "agent" + std::to_string(i),
                                                              .seed = i + 1}));
    janitors.back()->Start();
    copies.back()->Start();
  }
  const auto elected = [&] {
    return std::ranges::count_if(janitors, [](const auto& one) { return one->is_elected(); });
  };
  Pass(seconds(2));
  EXPECT_EQ(elected(), 1);
  // Its lease ends.
  world_.store.ExpireLease(world_.store.LeaseOf("/kvorum/registry-janitor"));
  Pass(seconds(2));
  EXPECT_EQ(elected(), 1);
  // It stops.
  const auto holder =
      std::ranges::find_if(janitors, [](const auto& one) { return one->is_elected(); });
  (*holder)->Stop();
  Pass(seconds(2));
  EXPECT_EQ(elected(), 1);
  EXPECT_FALSE((*holder)->is_elected());
  janitors.clear();
  copies.clear();
}

// The store of a janitor that holds another lock than everybody else, and so is one beside them.
class OtherLock final : public sync::ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  void Range(sync::RangeRequest request, OnAnswer<sync::RangeAnswer> on_answer) override {
    Rename(request.key);
    ForwardingStore::Range(std::move(request), std::move(on_answer));
  }
  void Txn(sync::TxnRequest request, OnAnswer<sync::TxnAnswer> on_answer) override {
    for (sync::Compare& compare : request.compares) Rename(compare.key);
    for (sync::Operation& operation : request.then) Rename(operation.key);
    ForwardingStore::Txn(std::move(request), std::move(on_answer));
  }
  std::unique_ptr<sync::StoreWatch> Watch(sync::WatchRequest request,
                                          sync::WatchSink sink) override {
    Rename(request.key);
    return ForwardingStore::Watch(std::move(request), std::move(sink));
  }

 private:
  static void Rename(std::string& key) {
    if (key == "/kvorum/registry-janitor") key += "-too";
  }
};

TEST_F(JanitorTest, TwoAtOnceDoNoHarm) {
  Start();
  OtherLock store(world_.store);
  CatalogCopy copy(store, world_.executor, {});
  Janitor second({.copy = copy,
                  .store = store,
                  .executor = world_.executor,
                  .reap_after = kReapAfter,
                  .seed = 2});
  second.Start();
  copy.Start();
  Pass(seconds(2));
  ASSERT_TRUE(janitor_->is_elected() && second.is_elected());
  for (int i = 0; i < 20; ++i) {
    const std::string id = world_.NewSession(R"({"TTL":"10s","LockDelay":"0s"})");
    const std::string key = "k" + std::to_string(i);
    world_.Put("kv/" + key + "?acquire=" + id, std::to_string(i));
    ExpireSession(id);
    const std::string other = world_.NewSession();
    EXPECT_EQ(world_.Put("kv/" + key + "?acquire=" + other, "mine"), "200 true");
    Pass(seconds(61));
    EXPECT_EQ(world_.HolderOf(key), other);
    EXPECT_EQ(world_.Pair(key).at("LockIndex"), 2);
  }
  world_.AddAgent("n2", "web");
  world_.CatalogWorld::Delete(world_.keys.Life("n2"));
  Pass(kReapAfter + seconds(1));
  EXPECT_FALSE(world_.Has("registry/node/n2"));
  EXPECT_TRUE(world_.Has("registry/node/n1"));
  second.Stop();
  copy.Stop();
}

TEST_F(JanitorTest, ADeadNodeIsRemovedWithItsServicesAndSessionsWhenAsked) {
  Start();
  world_.AddAgent("n2", "web");
  const std::string id = world_.NewSession(R"({"Node":"n2","NodeChecks":[],"LockDelay":"0s"})");
  world_.Put("kv/a?acquire=" + id, "x");
  std::optional<Result<void>> removed;
  const auto remove = [&](const std::string& node) {
    removed.reset();
    janitor_->RemoveNode(node, [&](Result<void> done) { removed = std::move(done); });
    Pass(seconds(1));
    return removed.value_or(Fail(Code::kUnknown, "not answered"));
  };
  EXPECT_TRUE(remove("n2")) << "it lives";
  EXPECT_TRUE(world_.Has("registry/node/n2"));
  EXPECT_EQ(world_.CountOf("registry/service/n2/"), 1U);
  EXPECT_TRUE(HasSession(id));
  EXPECT_EQ(remove("none").error().code, Code::kNotFound);
  world_.PutNode({.node = "far", .is_external = true});
  EXPECT_EQ(remove("far").error().code, Code::kNotFound);
  EXPECT_TRUE(world_.Has("registry/node/far"));
  world_.CatalogWorld::Delete(world_.keys.Life("n2"));
  // It comes back in the moment in which it is removed.
  world_.store.set_before_write([&] {
    world_.store.set_before_write(nullptr);
    world_.store.Put(world_.keys.Life("n2"), "");
  });
  EXPECT_TRUE(remove("n2"));
  EXPECT_TRUE(world_.Has("registry/node/n2"));
  world_.CatalogWorld::Delete(world_.keys.Life("n2"));
  EXPECT_TRUE(remove("n2"));
  EXPECT_FALSE(world_.Has("registry/node/n2"));
  EXPECT_EQ(world_.CountOf("registry/service/n2/"), 0U);
  EXPECT_FALSE(HasSession(id));
  EXPECT_EQ(world_.HolderOf("a"), "");
  EXPECT_EQ(world_.CountOf("kvlock/"), 0U);
}

TEST_F(JanitorTest, AStoreThatFailsIsReportedAndTriedAgain) {
  Start();
  const std::string id = world_.NewSession(R"({"TTL":"10s","LockDelay":"0s"})");
  world_.Put("kv/a?acquire=" + id, "x");
  world_.store.FailWrites({Code::kUnavailable, "lost"}, 1);
  ExpireSession(id);
  Pass(seconds(1));
  EXPECT_EQ(world_.CountOf("kvlock/"), 1U);
  EXPECT_EQ(world_.reports, std::vector<std::string>{"janitor: lost"});
  Pass(minutes(2));
  EXPECT_EQ(world_.CountOf("kvlock/"), 0U);
}

}  // namespace
}  // namespace kvorum::consul
