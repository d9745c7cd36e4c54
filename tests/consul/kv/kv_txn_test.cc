// PUT /v1/txn: forms, texts, and that all of it happens or nothing.
#include <gtest/gtest.h>

#include "base/base64.h"
#include "consul/kv/kv_transaction.h"
#include "tests/consul/kv/kv_world.h"
#include "tests/sync/forwarding_store.h"

namespace kvorum::consul {
namespace {

Json Op(const std::string& verb, const std::string& key, const std::string& value = "",
        Json more = Json::object()) {
  more["Verb"] = verb;
  more["Key"] = key;
  if (!value.empty()) more["Value"] = EncodeBase64(Base64::kStandard, value);
  return {{"KV", more}};
}

class KvTxnTest : public testing::Test {
 protected:
  KvTxnTest() { world_.StartWithNode(); }
  std::shared_ptr<FakeAnswer> Run(const std::vector<Json>& operations) {
    return world_.Ask("PUT", "txn", Json(operations).dump());
  }
  // The errors' indexes and texts, a line for each; the answer's line if it was not refused.
  std::string ErrorsOf(const std::vector<Json>& operations) {
    const auto answer = Run(operations);
    if (answer->status != 409) return answer->line();
    const Json said = answer->json();
    EXPECT_TRUE(said.at("Results").is_null());
    std::string lines;
    for (const Json& error : said.at("Errors"))
      lines += error.at("OpIndex").dump() + " " + error.at("What").get<std::string>() + "\n";
    return lines;
  }
  std::string IndexOf(const std::string& key) { return world_.Pair(key).at("ModifyIndex").dump(); }

  KvWorld world_;
};

TEST_F(KvTxnTest, ResultsComeInOrderWithValuesOnlyForReads) {
  world_.Put("kv/old", "1");
  const auto answer = Run({Op("set", "a", "x", {{"Flags", 7}}), Op("get", "a"), Op("delete", "old"),
                           Op("get-or-empty", "none"), Op("check-not-exists", "old")});
  const std::string now = std::to_string(world_.store.revision());
  EXPECT_EQ(
      answer->line(),
      R"(200 {"Results":[{"KV":{"LockIndex":0,"Key":"a","Flags":7,"Value":null,"CreateIndex":)" +
          now + R"(,"ModifyIndex":)" + now +
          R"(}},{"KV":{"LockIndex":0,"Key":"a","Flags":7,"Value":"eA==","CreateIndex":)" + now +
          R"(,"ModifyIndex":)" + now +
          R"(}},{"KV":{"LockIndex":0,"Key":"none","Flags":0,"Value":null,"CreateIndex":0,"ModifyIndex":0}},)"
          R"({"KV":{"LockIndex":0,"Key":"old","Flags":0,"Value":null,"CreateIndex":0,"ModifyIndex":0}}],"Errors":null})");
}

TEST_F(KvTxnTest, EachRefusalHasItsText) {
  world_.Put("kv/a", "1");
  const std::string index = IndexOf("a");
  const std::string session = world_.NewSession();
  const std::string other = world_.NewSession();
  world_.Put("kv/held?acquire=" + other, "x");
  const std::vector<std::pair<Json, std::string>> table = {
      {Op("cas", "a", "x", {{"Index", 1}}), "failed to set key \"a\", index is stale"},
      {Op("delete-cas", "a", "", {{"Index", 1}}), "failed to delete key \"a\", index is stale"},
      {Op("lock", "held", "", {{"Session", session}}),
       "failed to lock key \"held\", lock is already held"},
      {Op("unlock", "held", "", {{"Session", session}}),
       "failed to unlock key \"held\", lock isn't held, or is held by another session"},
      {Op("lock", "a"), "missing session"},
      {Op("lock", "a", "", {{"Session", "missing"}}), "invalid session \"missing\""},
      {Op("get", "none"), "key \"none\" doesn't exist"},
      {Op("check-not-exists", "a"), "key \"a\" exists"},
      {Op("check-session", "held", "", {{"Session", session}}),
       "failed session check for key \"held\", current session \"" + other + "\" != \"" + session +
           "\""},
      {Op("check-index", "a", "", {{"Index", 1}}),
       "failed index check for key \"a\", current modify index " + index + " != 1"},
      {Op("check-index", "none", "", {{"Index", 1}}),
       "failed to check index, key \"none\" doesn't exist"},
      {Op("get", ""), "Must provide key"},
      {Op("get-all", "a"), "unknown KV verb \"get-all\""},
  };
  const std::int64_t revision = world_.store.revision();
  for (const auto& [operation, text] : table)
    EXPECT_EQ(ErrorsOf({Op("set", "new", "x"), operation}), "1 " + text + "\n");
  EXPECT_EQ(world_.store.revision(), revision);  // nothing of it was written
  std::vector<Json> all;
  std::string lines;
  for (const auto& [operation, text] : table) {
    lines += std::to_string(all.size()) + " " + text + "\n";
    all.push_back(operation);
  }
  EXPECT_EQ(ErrorsOf(all), lines);  // all errors, not the first alone
}

TEST_F(KvTxnTest, AnOperationSeesThoseBeforeIt) {
  world_.Put("kv/t/1", "1");
  world_.Put("kv/t/2", "2");
  const auto answer = Run({Op("set", "t/3", "3"), Op("delete", "t/1"), Op("get-tree", "t/"),
                           Op("delete-tree", "t/"), Op("check-not-exists", "t/2"),
                           Op("set", "t/2", "again"), Op("set", "t/2", "and again")});
  ASSERT_EQ(answer->status, 200U) << answer->body;
  std::vector<std::string> keys;
  const Json said = answer->json();
  for (const Json& result : said.at("Results")) keys.push_back(result["KV"]["Key"]);
  EXPECT_EQ(keys, (std::vector<std::string>{"t/3", "t/2", "t/3", "t/2", "t/2", "t/2"}));
  EXPECT_EQ(world_.Get("kv/?keys"), R"(200 ["t/2"])");
  EXPECT_EQ(world_.store.Contents().at("/kvorum/kv/t/2"), "and again");
}

TEST_F(KvTxnTest, LocksAreTakenAndGivenBack) {
  const std::string session = world_.NewSession();
  const Json with = {{"Session", session}};
  EXPECT_EQ(Run({Op("lock", "a", "x", with), Op("check-session", "a", "", with)})->status, 200U);
  EXPECT_EQ(world_.Pair("a").at("LockIndex"), 1);
  EXPECT_EQ(world_.HolderOf("a"), session);
  EXPECT_TRUE(world_.Has("kvlock/" + session + "/a"));
  EXPECT_EQ(Run({Op("unlock", "a", "y", with)})->status, 200U);
  EXPECT_EQ(world_.HolderOf("a"), "");
  EXPECT_EQ(world_.CountOf("kvlock/"), 0U);
  EXPECT_EQ(world_.Pair("a").at("LockIndex"), 1);
}

TEST_F(KvTxnTest, WhatWasReadIsComparedWhenItIsWritten) {
  world_.Put("kv/t/1", "1");
  int times = 1;
  const auto after_reading = [&](const std::string& key, const std::string& value) {
    times = 1;
    world_.store.set_before_write([this, &times, key, value] {
      if (times-- > 0) world_.store.Put("/kvorum/kv/" + key, value);
    });
  };
  // A key that was only looked at, one that appears in a tree, and one that changes in it.
  after_reading("seen", "x");
  EXPECT_EQ(ErrorsOf({Op("check-not-exists", "seen"), Op("set", "a", "1")}),
            "0 key \"seen\" exists\n");
  EXPECT_FALSE(world_.Has("kv/a"));
  after_reading("t/2", "x");
  EXPECT_EQ(Run({Op("get-tree", "t/"), Op("set", "b", "1")})->json()["Results"].size(), 3U);
  after_reading("t/1", "2");
  EXPECT_EQ(Run({Op("get-tree", "t/"), Op("set", "c", "1")})->json()["Results"][0]["KV"]["Value"],
            "Mg==");
}

TEST_F(KvTxnTest, ReadsAloneWriteNothingAndHaveTheHeadersOfARead) {
  world_.Put("kv/a", "1");
  const int writes = world_.store.writes();
  const auto answer =
      world_.Ask("PUT", "txn?consistent", Json({Op("get", "a"), Op("get-tree", "")}).dump());
  EXPECT_EQ(answer->status, 200U);
  EXPECT_EQ(answer->json()["Results"].size(), 2U);
  EXPECT_EQ(answer->header("X-Consul-Knownleader"), "true");
  EXPECT_EQ(answer->header("X-Consul-Lastcontact"), "0");
  EXPECT_EQ(world_.store.writes(), writes);
  EXPECT_EQ(ErrorsOf({Op("get", "none")}), "0 key \"none\" doesn't exist\n");
}

TEST_F(KvTxnTest, ABodyThatIsNoTransactionIsRefused) {
  const auto put = [&](const std::string& body) { return world_.Put("txn", body); };
  EXPECT_TRUE(put("{").starts_with("400 Failed to parse body: "));
  EXPECT_TRUE(put("{}").starts_with("400 Failed to parse body: "));
  EXPECT_TRUE(put("[1]").starts_with("400 Failed to parse body: "));
  EXPECT_TRUE(put("[{}]").starts_with("400 Failed to parse body: "));
  EXPECT_TRUE(put(R"([{"KV":{"Verb":"set","Key":5}}])").starts_with("400 Failed to parse body: "));
  EXPECT_EQ(put(R"([{"KV":{"Verb":"set","Key":"a","Value":"?AAA"}}])"),
            "400 Failed to parse body: illegal base64 data at input byte 0");
  EXPECT_EQ(
      put(R"([{"KV":{"Verb":"set","Key":"a","Flags":-1}}])"),
      "400 Failed to parse body: json: cannot unmarshal number into Go struct field .Flags of "
      "type uint64");
  for (const char* other : {"Node", "Service", "Check"})
    EXPECT_TRUE(put(R"([{")" + std::string(other) + R"(":{"Verb":"get"}}])")
                    .starts_with("400 " + std::string(other) + " operations are not supported"));
  EXPECT_EQ(Run(std::vector<Json>(65, Op("get", "a")))->line(),
            "413 Transaction contains too many operations (65 > 64)");
  EXPECT_EQ(Run({Op("set", "a", std::string(524'289, 'x'))})->line(),
            "413 Value for key \"a\" is too large (524289 > 524288 bytes)");
  EXPECT_EQ(put(std::string(1'048'577, ' ')),
            "413 Request body(1048577 bytes) too large, max size: 1048576 bytes. See "
            "docs/consul.md.");
}

TEST_F(KvTxnTest, NamesMatchInAnyCaseAndNullIsAsGoodAsAbsent) {
  EXPECT_EQ(
      world_
          .Ask("PUT", "txn",
               R"([{"kv":{"verb":"set","key":"a","value":"eA==","session":null},"Node":null}])")
          ->status,
      200U);
  EXPECT_EQ(world_.store.Contents().at("/kvorum/kv/a"), "x");
}

TEST_F(KvTxnTest, AFullTransactionFitsIntoOneOfTheStore) {
  std::vector<Json> sets;
  for (int i = 0; i < 64; ++i)
    sets.push_back(Op("set", "k" + std::to_string(i), "x", {{"Flags", 1}}));
  EXPECT_EQ(Run(sets)->status, 200U);
  EXPECT_EQ(world_.CountOf("kvmeta/"), 64U);
  // A lock takes three writes.
  const std::string session = world_.NewSession();
  std::vector<Json> locks;
  for (int i = 0; i < 64; ++i)
    locks.push_back(Op("lock", "k" + std::to_string(i), "x", {{"Session", session}}));
  EXPECT_EQ(Run(locks)->line(), "413 Transaction contains too many operations (192 > 128)");
  locks.resize(42);
  EXPECT_EQ(Run(locks)->status, 200U);
}

// A store that somebody else writes to after the first of several reads.
class WrittenBetweenReads final : public sync::ForwardingStore {
 public:
  explicit WrittenBetweenReads(sync::FakeStore& store) : ForwardingStore(store), fake_(store) {}
  void Txn(sync::TxnRequest request, OnAnswer<sync::TxnAnswer> on_answer) override {
    ForwardingStore::Txn(std::move(request), std::move(on_answer));
    if (reads++ == 0) fake_.Commit({{"/kvorum/kv/k50", "new"}, {"/kvorum/kv/t/2", "new"}});
  }

  int reads = 0;

 private:
  sync::FakeStore& fake_;
};

TEST_F(KvTxnTest, AllIsReadAtOneRevisionHoweverManyReadsThatTakes) {
  std::vector<KvOperation> operations;
  for (int i = 0; i < 60; ++i) {
    const std::string key = "k" + std::to_string(i);
    world_.store.Put("/kvorum/kv/" + key, "old");
    operations.push_back({.verb = KvVerb::kGet, .key = key});
  }
  world_.store.Put("/kvorum/kv/t/1", "old");
  operations.push_back({.verb = KvVerb::kGetTree, .key = "t/"});
  const auto store = std::make_shared<WrittenBetweenReads>(world_.store);
  const KvKeys keys("/kvorum", "/kvorum/kv/");
  const Work work(world_.executor);
  std::optional<Result<KvDone>> done;
  RunOperations(store, keys, work, operations, [&](Result<KvDone> its) { done = std::move(its); });
  world_.executor.Settle();
  ASSERT_TRUE(done && *done);
  EXPECT_GT(store->reads, 1);
  ASSERT_EQ((*done)->results.size(), 61U);
  for (const KvResult& result : (*done)->results) EXPECT_EQ(result.pair.value, "old");
}

}  // namespace
}  // namespace kvorum::consul
