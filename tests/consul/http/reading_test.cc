// Consistency and blocking (spec sections 1 to 3).
#include "consul/http/reading.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/consul/http_world.h"

namespace kvorum::consul {
namespace {

using namespace std::chrono_literals;

class ReadingTest : public testing::Test {
 protected:
  ReadingTest() {
    world_.AddAgent("n1", "web");
    world_.AddAgent("n2", "db");
    world_.Start();
  }
  std::string Refusal(const std::string& target) { return world_.Read(target)->line(); }

  HttpWorld world_;
};

TEST_F(ReadingTest, WhatParametersMayNotBe) {
  EXPECT_EQ(Refusal("/?index=x"), "400 Invalid index");
  EXPECT_EQ(Refusal("/?index=18446744073709551616"), "400 Invalid index");
  EXPECT_EQ(Refusal("/?index=1&wait=10"), "400 Invalid wait time");
  EXPECT_EQ(Refusal("/?wait=x"), "400 Invalid wait time");
  EXPECT_EQ(Refusal("/?stale&consistent"),
            "400 Cannot specify ?stale with ?consistent, conflicting semantics.");
  EXPECT_EQ(Refusal("/?max_stale=x"), "400 Invalid max_stale value \"x\"");
  EXPECT_EQ(Refusal("/?dc=dc2"), "500 No path to datacenter");
  for (const char* fine : {"/?dc=dc1&index=-1&wait=5m0s", "/?index=&wait=&dc=", "/?wait=-1s",
                           "/?consistent", "/?stale=", "/?max_stale=10s", "/?index=0&cached"})
    EXPECT_EQ(Refusal(fine), "200 1") << fine;
}

TEST_F(ReadingTest, AnAnswerTellsItsIndexAndThatItIsFresh) {
  const auto answer = world_.Read("/");
  EXPECT_EQ(answer->header("X-Consul-Index"), std::to_string(world_.WebIndex()));
  EXPECT_EQ(answer->header("X-Consul-Knownleader"), "true");
  EXPECT_EQ(answer->header("X-Consul-Lastcontact"), "0");
  EXPECT_EQ(answer->header("X-Consul-Effective-Consistency"), "leader");
  EXPECT_EQ(answer->header("X-Consul-Query-Backend"), "blocking-query");
  EXPECT_EQ(world_.Read("/?consistent")->header("X-Consul-Effective-Consistency"), "consistent");
  EXPECT_EQ(world_.Read("/?stale")->header("X-Consul-Effective-Consistency"), "stale");
}

TEST_F(ReadingTest, AReadSeesWhatWasWrittenBeforeIt) {
  world_.store.Disconnect();
  world_.store.Commit({world_.ServiceWrite({.node = "n2", .id = "web", .name = "web"})});
  const auto answer = world_.Read("/");
  EXPECT_FALSE(answer->is_answered()) << "the copy is behind";
  world_.store.Connect();
  world_.executor.Settle();
  EXPECT_EQ(answer->line(), "200 2");
}

TEST_F(ReadingTest, ACopyThatStaysBehindIsNoLeader) {
  world_.store.Disconnect();
  world_.store.Put("/other", "");
  const auto answer = world_.Read("/");
  world_.executor.Advance(10s);
  EXPECT_EQ(answer->line(), "500 No cluster leader");
}

TEST_F(ReadingTest, WithoutAStoreAStaleReadStillAnswers) {
  world_.store.FailRanges({Code::kUnavailable, "etcdserver: no leader"}, 100);
  EXPECT_EQ(world_.Read("/")->line(), "500 No cluster leader");
  world_.executor.Advance(10s);
  const auto stale = world_.Read("/?stale");
  world_.executor.Advance(1s);
  EXPECT_EQ(stale->line(), "200 1");
  EXPECT_EQ(stale->header("X-Consul-Knownleader"), "false");
  EXPECT_GE(std::stoi(stale->header("X-Consul-Lastcontact")), 10'000);
}

TEST_F(ReadingTest, AStaleReadAsksForNewsIfThereWereNoneForLong) {
  world_.executor.Advance(1h);
  EXPECT_EQ(world_.Read("/?stale")->header("X-Consul-Lastcontact"), "0");
  world_.executor.Advance(1h);
  world_.store.HoldRanges();
  const auto unanswered = world_.Read("/?stale");
  EXPECT_FALSE(unanswered->is_answered());
  world_.executor.Advance(200ms);
  EXPECT_EQ(unanswered->line(), "200 1");
  EXPECT_EQ(unanswered->header("X-Consul-Lastcontact"), "3600200");
  world_.store.LetGo();
  world_.executor.Settle();
  EXPECT_EQ(unanswered->answers, 1);
}

TEST_F(ReadingTest, AnAnswerThatIsOlderThanMaxStaleIsAskedForAtTheLeader) {
  world_.executor.Advance(10s);
  world_.store.HoldRanges();
  const auto answer = world_.Read("/?max_stale=5s");
  world_.executor.Advance(1s);
  EXPECT_FALSE(answer->is_answered());
  world_.store.LetGo();
  world_.executor.Settle();
  EXPECT_EQ(answer->header("X-Consul-Effective-Consistency"), "leader");
  EXPECT_EQ(answer->header("X-Consul-Lastcontact"), "0");
}

TEST_F(ReadingTest, RequestsThatWaitForAQuestionShareIt) {
  world_.store.HoldRanges();
  const int before = world_.store.ranges();
  std::vector<std::shared_ptr<FakeAnswer>> answers;
  for (int i = 0; i < 100; ++i) answers.push_back(world_.Read("/"));
  EXPECT_EQ(world_.store.ranges(), before + 1);
  world_.store.LetGo();
  world_.executor.Settle();
  for (const auto& answer : answers) EXPECT_EQ(answer->line(), "200 1");
  EXPECT_EQ(world_.store.ranges(), before + 2);
}

TEST_F(ReadingTest, TokensAreAskedWithTheirOwnCredentials) {
  EXPECT_EQ(world_.Read("/", "good")->line(), "200 1");
  EXPECT_EQ(world_.access.asked["good"], 1);
  EXPECT_EQ(world_.Read("/", "forbidden")->line(),
            "403 Permission denied: etcdserver: permission denied");
  EXPECT_EQ(world_.Read("/", "unknown")->line(), "403 ACL not found");
}

TEST_F(ReadingTest, AStaleReadOfATokenNeedsItsPermissionToo) {
  EXPECT_EQ(world_.Read("/?stale", "unknown")->line(), "403 ACL not found");
  EXPECT_EQ(world_.Read("/?stale", "good")->line(), "200 1");
  EXPECT_EQ(world_.Read("/?stale", "good")->line(), "200 1");
  EXPECT_EQ(world_.access.asked["good"], 1) << "it is remembered for a while";
  // Without the store, who was let in once reads on; others do not.
  world_.executor.Advance(1min);
  world_.access.failure = Error{Code::kUnavailable, "no connection"};
  const auto known = world_.Read("/?stale", "good");
  world_.executor.Advance(1s);
  EXPECT_EQ(known->line(), "200 1");
}

TEST_F(ReadingTest, ABlockingReadWaitsUntilItsIndexMoves) {
  const auto answer = world_.Block();
  EXPECT_FALSE(answer->is_answered());
  EXPECT_EQ(world_.reading.waiting(), 1U);
  world_.PutService({.node = "n2", .id = "db", .name = "db", .details = {.port = 1}});
  world_.store.Put("/kvorum/kv/a", "");
  world_.executor.Settle();
  EXPECT_FALSE(answer->is_answered()) << "churn elsewhere";
  world_.PutService({.node = "n2", .id = "web", .name = "web"});
  EXPECT_EQ(answer->line(), "200 2");
  EXPECT_EQ(answer->header("X-Consul-Index"), std::to_string(world_.WebIndex()));
  EXPECT_EQ(world_.reading.waiting(), 0U);
}

TEST_F(ReadingTest, AnIndexThatHasMovedAlreadyIsAnsweredAtOnce) {
  EXPECT_EQ(world_.Read("/?index=1")->line(), "200 1");
}

TEST_F(ReadingTest, WaitsEndWithASixteenthAtMost) {
  for (const auto& [parameter, wait] :
       std::vector<std::pair<std::string, Duration>>{{"", 300s},
                                                     {"&wait=10s", 10s},
                                                     {"&wait=20m", 600s},
                                                     {"&wait=0s", 300s},
                                                     {"&wait=-3s", 300s}}) {
    const auto answer = world_.Block(parameter);
    world_.executor.Advance(wait - 1ms);
    EXPECT_FALSE(answer->is_answered()) << parameter;
    world_.executor.Advance(wait / 16 + 1ms);
    EXPECT_EQ(answer->line(), "200 1") << parameter;
    EXPECT_EQ(answer->header("X-Consul-Index"), std::to_string(world_.WebIndex()));
  }
}

TEST_F(ReadingTest, JitterSpreadsTheEnds) {
  std::vector<std::shared_ptr<FakeAnswer>> answers;
  for (int i = 0; i < 100; ++i) answers.push_back(world_.Block("&wait=160s"));
  const auto answered = [&] {
    return std::ranges::count_if(answers, [](const auto& answer) { return answer->is_answered(); });
  };
  world_.executor.Advance(160s);
  EXPECT_LE(answered(), 1);
  world_.executor.Advance(5s);
  EXPECT_GT(answered(), 25);
  EXPECT_LT(answered(), 75);
  world_.executor.Advance(5s);
  EXPECT_EQ(answered(), 100);
}

TEST_F(ReadingTest, AnIndexOfTheFutureWaitsTheWholeTimeThenIsLower) {
  const auto answer = world_.Read("/?index=1000&wait=10s");
  world_.PutService({.node = "n2", .id = "web", .name = "web"});
  EXPECT_FALSE(answer->is_answered());
  world_.executor.Advance(11s);
  EXPECT_EQ(answer->line(), "200 2");
  EXPECT_LT(std::stoi(answer->header("X-Consul-Index")), 1000);
}

TEST_F(ReadingTest, AfterAWaitWithoutNewsTheStoreIsAskedAgain) {
  const auto fresh = world_.Block("&wait=10s");
  const auto stale = world_.Block("&wait=10s&stale");
  world_.store.FailRanges({Code::kUnavailable, "no leader"}, 100);
  world_.executor.Advance(12s);
  EXPECT_EQ(fresh->line(), "500 No cluster leader");
  EXPECT_EQ(stale->line(), "200 1");
}

TEST_F(ReadingTest, AStoreThatIsSilentHoldsAReadUpForSevenSeconds) {
  world_.store.HoldRanges();
  const auto first = world_.Read("/");
  world_.executor.Advance(3s);
  const auto second = world_.Read("/?consistent");  // which shares the next question
  world_.executor.Advance(4s - 1ms);
  EXPECT_FALSE(first->is_answered());
  world_.executor.Advance(1ms);
  EXPECT_EQ(first->line(), "500 No cluster leader");
  EXPECT_FALSE(second->is_answered());
  world_.executor.Advance(3s);
  EXPECT_EQ(second->line(), "500 No cluster leader");
  // The store's late answers are news for later reads alone.
  world_.store.LetGo();
  world_.executor.Settle();
  EXPECT_EQ(world_.Read("/")->line(), "200 1");
  EXPECT_EQ(first->answers, 1);
  EXPECT_EQ(second->answers, 1);
}

TEST_F(ReadingTest, AStoreThatFellSilentHoldsAWaitUpForSevenSecondsAfterItsEnd) {
  std::vector<std::shared_ptr<FakeAnswer>> answers;
  for (int i = 0; i < 50; ++i) answers.push_back(world_.Block("&wait=16s"));
  world_.store.HoldRanges();
  world_.executor.Advance(16s + 7s - 1ms);
  for (const auto& answer : answers) EXPECT_FALSE(answer->is_answered());
  world_.executor.Advance(1s + 1ms);  // the jitter
  for (const auto& answer : answers) EXPECT_EQ(answer->line(), "500 No cluster leader");
  EXPECT_EQ(world_.reading.waiting(), 0U);
}

TEST_F(ReadingTest, TheWaitCountsFromTheRequestsBeginning) {
  world_.store.HoldRanges();
  const auto answer = world_.Block("&wait=10s");
  world_.executor.Advance(6s);
  world_.store.LetGo();
  world_.executor.Settle();
  EXPECT_FALSE(answer->is_answered());
  world_.executor.Advance(4s + 625ms);
  EXPECT_EQ(answer->line(), "200 1");
}

TEST_F(ReadingTest, WhileTheStoreIsSilentAStaleReadIsAnsweredAtOnce) {
  EXPECT_EQ(world_.Read("/?stale", "good")->line(), "200 1");
  world_.store.HoldRanges();
  const auto silent = world_.Read("/");
  world_.executor.Advance(30s);
  EXPECT_EQ(silent->line(), "500 No cluster leader");
  const int asked = world_.store.ranges();
  for (const char* token : {"", "good"}) {
    const auto stale = world_.Read("/?stale", token);
    EXPECT_EQ(stale->line(), "200 1") << token;
    EXPECT_EQ(stale->header("X-Consul-Knownleader"), "false");
    EXPECT_GE(std::stoi(stale->header("X-Consul-Lastcontact")), 30'000);
    // And again, with one question for all.
    for (int i = 0; i < 10; ++i) EXPECT_EQ(world_.Read("/?stale", token)->line(), "200 1");
  }
  EXPECT_LE(world_.store.ranges(), asked + 2);
  EXPECT_EQ(world_.Read("/?stale", "unknown")->line(), "403 ACL not found");
  world_.store.LetGo();
  world_.executor.Settle();
  EXPECT_EQ(world_.Read("/?stale")->header("X-Consul-Knownleader"), "true");
}

TEST_F(ReadingTest, AnAnswerOlderThanMaxStaleIsRefusedWhenTheStoreIsSilent) {
  world_.executor.Advance(10s);
  world_.store.HoldRanges();
  const auto answer = world_.Read("/?max_stale=5s");
  world_.executor.Advance(7s);
  EXPECT_EQ(answer->line(), "500 No cluster leader");
}

TEST_F(ReadingTest, AClientThatLeavesCostsNothingAnyMore) {
  const auto answer = world_.Block();
  answer->Leave();
  world_.executor.Settle();
  EXPECT_EQ(world_.reading.waiting(), 0U);
  world_.PutService({.node = "n2", .id = "web", .name = "web"});
  EXPECT_EQ(answer->answers, 1);
  answer->Leave();
  world_.executor.Advance(10min);
  EXPECT_EQ(answer->answers, 1);
}

TEST_F(ReadingTest, AClientThatLeavesAfterTheAnswerIsNoMatter) {
  const auto answer = world_.Block();
  world_.PutService({.node = "n2", .id = "web", .name = "web"});
  answer->Leave();
  world_.executor.Settle();
  EXPECT_EQ(answer->line(), "200 2");
}

TEST_F(ReadingTest, AListThatReplacesThePastEndsAllWaits) {
  const auto web = world_.Block();
  const auto sessions = world_.Read("/?index=1000", {}, {Topic::Kind::kSessions});
  world_.Relist();
  EXPECT_TRUE(web->is_answered());
  EXPECT_TRUE(sessions->is_answered());
}

TEST_F(ReadingTest, AStoreThatWentBackEndsAllWaitsAndIndexesAreLower) {
  const std::uint64_t before = world_.WebIndex();
  const auto blocked = world_.Block();
  world_.store.Restore(2);
  const auto answer = world_.Read("/");
  EXPECT_TRUE(blocked->is_answered());
  ASSERT_EQ(answer->line(), "200 1");
  EXPECT_LT(std::stoul(answer->header("X-Consul-Index")), before);
}

TEST_F(ReadingTest, TheEndOfTheCopyAnswersWhoWaits) {
  const auto answer = world_.Block();
  world_.copy.Stop();
  world_.executor.Settle();
  EXPECT_EQ(answer->line(), "200 1");
}

TEST_F(ReadingTest, NotFoundAsBeforeIsNoNews) {
  auto [exchange, answer] = world_.Make("/?index=" + std::to_string(world_.WebIndex()));
  bool is_found = false;
  Moving moving = MovingOf(world_.copy, {{Topic::Kind::kService, "web"}});
  moving.is_found = [&] { return is_found; };
  world_.reading.Read(std::move(exchange), std::move(moving), [](Exchange read) { read.Ok(); });
  world_.executor.Settle();
  world_.Delete(world_.keys.Life("n1"));
  world_.PutLife("n1");
  EXPECT_FALSE(answer->is_answered());
  is_found = true;
  world_.Delete(world_.keys.Life("n1"));
  EXPECT_TRUE(answer->is_answered());
}

TEST_F(ReadingTest, AReadOfTwoTopicsMovesWithEither) {
  const std::vector<Topic> topics{{Topic::Kind::kNodes}, {Topic::Kind::kSessions}};
  for (const auto& write : std::vector<std::function<void()>>{
           [&] { world_.PutNode({.node = "n3", .is_external = true}); },
           [&] { world_.PutSession({.id = "s1", .node = "n1"}); }}) {
    const Moving moving = MovingOf(world_.copy, topics);
    auto [exchange, answer] = world_.Make("/?index=" + std::to_string(moving.index()));
    world_.reading.Read(std::move(exchange), moving, [](Exchange read) { read.Ok(); });
    world_.executor.Settle();
    EXPECT_FALSE(answer->is_answered());
    write();
    EXPECT_TRUE(answer->is_answered());
  }
}

TEST_F(ReadingTest, OneTimerServesAllWhoWait) {
  std::vector<std::shared_ptr<FakeAnswer>> answers;
  const std::size_t before = world_.executor.timers();
  for (int i = 0; i < 1000; ++i) answers.push_back(world_.Block());
  EXPECT_LT(world_.executor.timers() - before, 20U);
}

}  // namespace
}  // namespace kvorum::consul
