// /v1/session, and locks through the life of their sessions.
#include <gtest/gtest.h>

#include "tests/consul/kv/kv_world.h"

namespace kvorum::consul {
namespace {

class SessionTest : public testing::Test {
 protected:
  SessionTest() { world_.StartWithNode(); }
  std::string Create(const std::string& body) { return world_.Put("session/create", body); }
  Json Info(const std::string& id) { return world_.Ask("GET", "session/info/" + id)->json(); }

  KvWorld world_;
};

TEST_F(SessionTest, ASessionHasTheDefaultsOfTheApi) {
  const std::string id = world_.NewSession();
  EXPECT_EQ(id.size(), 36U);
  EXPECT_EQ(id[14], '4');
  const std::string revision = std::to_string(world_.store.revision());
  const auto answer = world_.Ask("GET", "session/info/" + id);
  EXPECT_EQ(answer->body, R"([{"ID":")" + id +
                              R"(","Name":"","Node":"n1","LockDelay":15000000000,)"
                              R"("Behavior":"release","TTL":"","NodeChecks":["serfHealth"],)"
                              R"("ServiceChecks":null,"CreateIndex":)" +
                              revision + R"(,"ModifyIndex":)" + revision + "}]");
  EXPECT_EQ(answer->header("X-Consul-Index"), revision);
  // It hangs on its node's life.
  EXPECT_EQ(world_.store.LeaseOf("/kvorum/registry/session/" + id), world_.life_leases["n1"]);
}

TEST_F(SessionTest, WhatIsAskedForIsTaken) {
  const std::string id = world_.NewSession(
      R"({"name":"lock","TTL":"15.000000s","LockDelay":"1ms","behavior":"delete","NodeChecks":[]})");
  const Json session = Info(id).at(0);
  EXPECT_EQ(session.at("Name"), "lock");
  EXPECT_EQ(session.at("TTL"), "15.000000s");
  EXPECT_EQ(session.at("LockDelay"), 1'000'000);
  EXPECT_EQ(session.at("Behavior"), "delete");
  EXPECT_EQ(session.at("NodeChecks"), Json::array());
  const std::int64_t lease = world_.store.LeaseOf("/kvorum/registry/session/" + id);
  EXPECT_EQ(world_.store.leases().at(lease), 30);  // twice the TTL
}

TEST_F(SessionTest, ATtlOfNothingIsNone) {
  const std::string id = world_.NewSession(R"({"TTL":"0s"})");
  EXPECT_EQ(Info(id).at(0).at("TTL"), "");
  EXPECT_EQ(world_.Put("session/destroy/" + id), "200 true");
  EXPECT_TRUE(world_.store.leases().contains(world_.life_leases["n1"]));
  EXPECT_EQ(Create("null").substr(0, 4), "200 ");
}

TEST_F(SessionTest, TheLockDelayIsSecondsNanosecondsOrAText) {
  for (const auto& [given, wanted] :
       std::vector<std::pair<std::string, std::int64_t>>{{"0", 0},
                                                         {"5", 5'000'000'000},
                                                         {"999", 60'000'000'000},
                                                         {"1000", 1'000},
                                                         {"15000000000", 15'000'000'000},
                                                         {"120000000000", 60'000'000'000},
                                                         {"\"2m\"", 60'000'000'000},
                                                         {"\"500ms\"", 500'000'000},
                                                         {"null", 15'000'000'000}})
    EXPECT_EQ(Info(world_.NewSession("{\"LockDelay\":" + given + "}")).at(0).at("LockDelay"),
              wanted)
        << given;
}

TEST_F(SessionTest, FaultsHaveTheirTexts) {
  world_.PutService({.node = "n1",
                     .id = "web",
                     .name = "web",
                     .checks = {{.id = "bad"}, {.id = "good", .health = Health::kPassing}}});
  for (
      const auto& [body, line] : std::vector<std::pair<std::string, std::string>>{
          {R"({"Node":""})", "500 Must provide Node"},
          {R"({"Node":"n2"})", "500 Missing node registration"},
          {R"({"Behavior":"x"})", "500 Invalid Behavior setting 'x'"},
          {R"({"TTL":"9s"})",
           "500 Invalid Session TTL '9000000000', must be between [10s=24h0m0s]"},
          {R"({"TTL":"86401s"})",
           "500 Invalid Session TTL '86401000000000', must be between [10s=24h0m0s]"},
          {R"({"TTL":"x"})", "500 Session TTL 'x' invalid: time: invalid duration \"x\""},
          {R"({"NodeChecks":["none"]})", "500 Missing check 'none' registration"},
          {R"({"Checks":["bad"]})", "500 Check 'bad' is in critical state"},
          {R"({"ServiceChecks":[{"ID":"bad"}]})", "500 Check 'bad' is in critical state"},
          {R"({"LockDelay":true})",
           "400 Request decode failed: cannot decode a duration from boolean"},
          {R"([])",
           "400 Request decode failed: json: cannot unmarshal array into Go struct field . of type "
           "structs.Session"},
          {R"({"Name":1})",
           "400 Request decode failed: json: cannot unmarshal number into Go struct field .Name of "
           "type string"}})
    EXPECT_EQ(Create(body), line) << body;
  EXPECT_TRUE(Create("{").starts_with("400 Request decode failed: "));
  EXPECT_EQ(Create(R"({"ServiceChecks":[{"ID":"good"}],"NodeChecks":["serfHealth"]})").substr(0, 4),
            "200 ");
  EXPECT_EQ(world_.CountOf("registry/session/"), 1U);
  EXPECT_EQ(world_.store.leases().size(), 1U);  // the life's: nothing was left behind
}

TEST_F(SessionTest, ADeadNodeOrOneWithoutAnAgentHasNoSerfHealth) {
  world_.PutNode({.node = "ext", .is_external = true});
  EXPECT_EQ(Create(R"({"Node":"ext"})"), "500 Missing check 'serfHealth' registration");
  EXPECT_EQ(Create(R"({"Node":"ext","NodeChecks":[]})").substr(0, 4), "200 ");
  world_.Die("n1");
  EXPECT_EQ(Create(""), "500 Check 'serfHealth' is in critical state");
}

TEST_F(SessionTest, AnUnknownSessionIsAnEmptyListA404OrTrue) {
  EXPECT_EQ(world_.Get("session/info/missing"), "200 []");
  EXPECT_EQ(world_.Get("session/node/missing"), "200 []");
  EXPECT_EQ(world_.Get("session/list"), "200 []");
  EXPECT_EQ(world_.Put("session/renew/missing"), "404 Session id 'missing' not found");
  EXPECT_EQ(world_.Put("session/destroy/missing"), "200 true");
  EXPECT_EQ(world_.Put("session/destroy/"), "400 Missing session");
  EXPECT_EQ(world_.Put("session/renew"), "400 Missing session");
  EXPECT_EQ(world_.Get("session/info/"), "400 Missing session");
  EXPECT_EQ(world_.Get("session/node/"), "400 Missing node name");
}

TEST_F(SessionTest, ListsAreOfAllOrOfANode) {
  world_.AddAliveNode("n2");
  world_.NewSession();
  world_.NewSession(R"({"Node":"n2"})");
  EXPECT_EQ(world_.Ask("GET", "session/list")->json().size(), 2U);
  const Json of_node = world_.Ask("GET", "session/node/n2")->json();
  ASSERT_EQ(of_node.size(), 1U);
  EXPECT_EQ(of_node.at(0).at("Node"), "n2");
}

TEST_F(SessionTest, ARenewalKeepsTheLeaseAlive) {
  const std::string id = world_.NewSession(R"({"TTL":"10s"})");
  const auto renewed = world_.Ask("PUT", "session/renew/" + id);
  EXPECT_EQ(renewed->json().at(0).at("TTL"), "10s");
  EXPECT_EQ(renewed->json(), Info(id));
  world_.store.ExpireLease(world_.store.LeaseOf("/kvorum/registry/session/" + id));
  EXPECT_EQ(world_.Put("session/renew/" + id), "404 Session id '" + id + "' not found");
}

TEST_F(SessionTest, ALockGoesFromHandToHand) {
  const std::string first = world_.NewSession();
  const std::string second = world_.NewSession();
  EXPECT_EQ(world_.Put("kv/a?acquire=" + first + "&flags=3304740253564472344", "1"), "200 true");
  EXPECT_EQ(world_.Put("kv/a?acquire=" + second, "2"), "200 false");
  Json pair = world_.Pair("a");
  EXPECT_EQ(pair.at("Session"), first);
  EXPECT_EQ(pair.at("LockIndex"), 1);
  EXPECT_EQ(pair.at("Flags"), 3304740253564472344ULL);
  // Its holder again: the value is written, the index stays; the same again writes nothing.
  EXPECT_EQ(world_.Put("kv/a?acquire=" + first, "3"), "200 true");
  const std::int64_t revision = world_.store.revision();
  EXPECT_EQ(world_.Put("kv/a?acquire=" + first, "3"), "200 true");
  EXPECT_EQ(world_.store.revision(), revision);
  EXPECT_EQ(world_.Pair("a").at("LockIndex"), 1);
  // Locks are advisory.
  EXPECT_EQ(world_.Put("kv/a", "4"), "200 true");
  EXPECT_EQ(world_.HolderOf("a"), first);
  EXPECT_EQ(world_.Put("kv/a?release=" + second, "5"), "200 false");
  EXPECT_EQ(world_.Put("kv/a?release=" + first, "5"), "200 true");
  pair = world_.Pair("a");
  EXPECT_FALSE(pair.contains("Session"));
  EXPECT_EQ(pair.at("LockIndex"), 1);
  EXPECT_EQ(pair.at("Value"), "NQ==");
  // A release has no lock-delay.
  EXPECT_EQ(world_.Put("kv/a?acquire=" + second, "6"), "200 true");
  EXPECT_EQ(world_.Pair("a").at("LockIndex"), 2);
}

TEST_F(SessionTest, ADestroyedSessionReleasesItsKeysAndTheLockDelayBegins) {
  const std::string id = world_.NewSession(R"({"TTL":"10s"})");
  const std::string other = world_.NewSession();
  world_.Put("kv/a?acquire=" + id, "x");
  const Json before = world_.Pair("a");
  EXPECT_EQ(world_.Put("session/destroy/" + id), "200 true");
  const Json after = world_.Pair("a");
  EXPECT_FALSE(after.contains("Session"));
  EXPECT_EQ(after.at("Value"), before.at("Value"));
  EXPECT_GT(after.at("ModifyIndex"), before.at("ModifyIndex"));
  EXPECT_EQ(world_.CountOf("kvlock/"), 0U);
  EXPECT_EQ(world_.Put("kv/a?acquire=" + other, "y"), "200 false");
  const std::int64_t delay = world_.store.LeaseOf("/kvorum/kvdelay/a");
  EXPECT_EQ(world_.store.leases().at(delay), 15);
  world_.store.ExpireLease(delay);
  EXPECT_EQ(world_.Put("kv/a?acquire=" + other, "y"), "200 true");
  EXPECT_EQ(world_.Put("kv/a?acquire=" + id, "z"), "500 invalid session \"" + id + "\"");
}

TEST_F(SessionTest, WithoutALockDelayTheNextOneMayLockAtOnce) {
  const std::string id = world_.NewSession(R"({"LockDelay":"0s"})");
  const std::string other = world_.NewSession();
  world_.Put("kv/a?acquire=" + id, "x");
  world_.Put("session/destroy/" + id);
  EXPECT_EQ(world_.CountOf("kvdelay/"), 0U);
  EXPECT_EQ(world_.Put("kv/a?acquire=" + other, "y"), "200 true");
}

TEST_F(SessionTest, ALockDelayShorterThanAnyLeaseIsEndedByTheAgent) {
  world_.store.set_min_ttl_s(5);
  const std::string id = world_.NewSession(R"({"LockDelay":"1ms"})");
  const std::string other = world_.NewSession();
  world_.Put("kv/a?acquire=" + id, "x");
  world_.Put("session/destroy/" + id);
  EXPECT_EQ(world_.Put("kv/a?acquire=" + other, "y"), "200 false");
  world_.executor.Advance(std::chrono::milliseconds(1));
  EXPECT_EQ(world_.CountOf("kvdelay/"), 0U);
  EXPECT_EQ(world_.Put("kv/a?acquire=" + other, "y"), "200 true");
}

TEST_F(SessionTest, TheBehaviorDeleteTakesTheKeysAlong) {
  const std::string id = world_.NewSession(R"({"Behavior":"delete","LockDelay":"0s"})");
  for (int i = 0; i < 40; ++i)
    ASSERT_EQ(world_.Put("kv/k" + std::to_string(i) + "?acquire=" + id, "x"), "200 true");
  world_.Put("kv/free", "x");
  EXPECT_EQ(world_.Put("session/destroy/" + id), "200 true");
  EXPECT_EQ(world_.Get("kv/?keys"), R"(200 ["free"])");
  EXPECT_EQ(world_.CountOf("kvmeta/") + world_.CountOf("kvlock/"), 0U);
}

TEST_F(SessionTest, AKeyThatWasDeletedAndIsAnothersStays) {
  const std::string id = world_.NewSession(R"({"Behavior":"delete"})");
  world_.Put("kv/p/a?acquire=" + id, "x");
  world_.Delete("kv/p?recurse");
  EXPECT_TRUE(world_.Has("kvlock/" + id + "/p/a"));  // cleared with the session
  world_.Put("kv/p/a", "y");
  world_.Put("session/destroy/" + id);
  EXPECT_EQ(world_.store.Contents().at("/kvorum/kv/p/a"), "y");
  EXPECT_EQ(world_.CountOf("kvlock/") + world_.CountOf("kvdelay/"), 0U);
  // So does one that another session locked since.
  const std::string second = world_.NewSession(R"({"Behavior":"delete"})");
  const std::string other = world_.NewSession();
  world_.Put("kv/p/a?acquire=" + second, "x");
  world_.Delete("kv/p?recurse");
  EXPECT_EQ(world_.Put("kv/p/a?acquire=" + other, "z"), "200 true");
  world_.Put("session/destroy/" + second);
  EXPECT_EQ(world_.HolderOf("p/a"), other);
  EXPECT_EQ(world_.CountOf("kvlock/"), 1U);
}

TEST_F(SessionTest, UntilAnEndedSessionIsClearedItsKeysShowNoneAndCannotBeLocked) {
  const std::string id = world_.NewSession(R"({"TTL":"10s"})");
  const std::string at_once = world_.NewSession(R"({"TTL":"10s","LockDelay":"0s"})");
  const std::string other = world_.NewSession();
  world_.Put("kv/a?acquire=" + id, "x");
  world_.Put("kv/b?acquire=" + at_once, "x");
  for (const std::string& ended : {id, at_once})
    world_.store.ExpireLease(world_.store.LeaseOf("/kvorum/registry/session/" + ended));
  world_.executor.Settle();
  // No janitor is at work in this test.
  EXPECT_EQ(world_.HolderOf("a"), "");
  EXPECT_EQ(world_.Ask("GET", "kv/?recurse")->json().at(0).contains("Session"), false);
  EXPECT_EQ(world_.Put("kv/a?acquire=" + other, "y"), "200 false");
  EXPECT_EQ(world_.Put("kv/a?release=" + id, "y"), "200 false");
  EXPECT_EQ(world_.Put("kv/b?acquire=" + other, "y"), "200 true");
  EXPECT_FALSE(world_.Has("kvlock/" + at_once + "/b"));
  EXPECT_EQ(world_.Pair("b").at("LockIndex"), 2);
}

TEST_F(SessionTest, ASessionThatEndsBetweenReadAndWriteLocksNothing) {
  const std::string id = world_.NewSession(R"({"TTL":"10s"})");
  int times = 1;
  world_.store.set_before_write([&] {
    if (times-- > 0) world_.store.Delete("/kvorum/registry/session/" + id);
  });
  EXPECT_EQ(world_.Put("kv/a?acquire=" + id, "x"), "500 invalid session \"" + id + "\"");
  EXPECT_FALSE(world_.Has("kv/a"));
}

TEST_F(SessionTest, ALockDelayThatBeginsBetweenReadAndWriteIsRespected) {
  const std::string id = world_.NewSession();
  world_.store.set_before_write([&] {
    world_.store.set_before_write(nullptr);
    world_.store.Put("/kvorum/kvdelay/a", "");
  });
  EXPECT_EQ(world_.Put("kv/a?acquire=" + id, "x"), "200 false");
  EXPECT_FALSE(world_.Has("kv/a"));
}

TEST_F(SessionTest, OfTwoWhoLockAtOnceOneGetsIt) {
  const std::string first = world_.NewSession();
  const std::string second = world_.NewSession();
  int times = 1;
  world_.store.set_before_write([&] {
    // The other is faster, through another agent: it writes what that agent would.
    if (times-- > 0)
      world_.store.Commit(
          {{"/kvorum/kv/a", "2"},
           {"/kvorum/kvmeta/a", R"({"flags":0,"lock_index":1,"session":")" + second + "\"}"}});
  });
  EXPECT_EQ(world_.Put("kv/a?acquire=" + first, "1"), "200 false");
  EXPECT_EQ(world_.HolderOf("a"), second);
}

TEST_F(SessionTest, ACheckThatTurnsCriticalBeforeTheSessionIsWrittenIsSeen) {
  int times = 1;
  world_.store.set_before_write([&] {
    if (times-- > 0) world_.store.ExpireLease(world_.life_leases["n1"]);
  });
  EXPECT_EQ(Create(""), "500 Check 'serfHealth' is in critical state");
  times = 0;
  world_.PutLifeOf("n1");
  world_.PutService({.node = "n1",
                     .id = "web",
                     .name = "web",
                     .checks = {{.id = "up", .health = Health::kPassing}}});
  times = 1;
  world_.store.set_before_write([&] {
    if (times-- > 0)
      world_.store.Put(world_.keys.Service("n1", "web"),
                       EncodeService({.node = "n1",
                                      .id = "web",
                                      .name = "web",
                                      .checks = {{.id = "up", .health = Health::kCritical}}}));
  });
  EXPECT_EQ(Create(R"({"Checks":["up"],"TTL":"10s"})"), "500 Check 'up' is in critical state");
}

TEST_F(SessionTest, ListsBlock) {
  const auto answer = world_.Send("GET", "session/list?index=" + world_.IndexOf("session/list"));
  EXPECT_FALSE(answer->is_answered());
  world_.NewSession();
  ASSERT_TRUE(answer->is_answered());
  EXPECT_EQ(answer->json().size(), 1U);
}

}  // namespace
}  // namespace kvorum::consul
