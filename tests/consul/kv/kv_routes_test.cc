// /v1/kv, verb by verb: statuses, bodies, headers and texts as in the API's description.
#include <gtest/gtest.h>

#include "tests/consul/kv/kv_world.h"

namespace kvorum::consul {
namespace {

class KvRoutesTest : public testing::Test {
 protected:
  KvWorld world_;
};

TEST_F(KvRoutesTest, AKeyIsReadWithAllItsFields) {
  world_.Start();
  EXPECT_EQ(world_.Put("kv/a/b?flags=42", "hello"), "200 true");
  const auto answer = world_.Ask("GET", "kv/a/b");
  EXPECT_EQ(answer->status, 200U);
  const std::string index = std::to_string(world_.store.revision());
  EXPECT_EQ(answer->body,
            R"([{"LockIndex":0,"Key":"a/b","Flags":42,"Value":"aGVsbG8=","CreateIndex":)" + index +
                R"(,"ModifyIndex":)" + index + "}]");
  EXPECT_EQ(answer->header("X-Consul-Index"), index);
  EXPECT_EQ(answer->header("X-Consul-Knownleader"), "true");
  EXPECT_EQ(answer->content_type, "application/json");
  // Other clients of the store see a plain value.
  EXPECT_EQ(world_.store.Contents().at("/kvorum/kv/a/b"), "hello");
}

TEST_F(KvRoutesTest, AnEmptyValueIsNull) {
  world_.Start();
  world_.Put("kv/a");
  EXPECT_TRUE(world_.Pair("a").at("Value").is_null());
}

TEST_F(KvRoutesTest, AMissingKeyIs404WithAnIndexAndAnEmptyBody) {
  world_.Start();
  for (const char* target : {"kv/none", "kv/none?recurse", "kv/none?raw", "kv/none?keys"}) {
    const auto answer = world_.Ask("GET", target);
    EXPECT_EQ(answer->line(), "404 ") << target;
    EXPECT_NE(answer->header("X-Consul-Index"), "") << target;
    EXPECT_NE(answer->header("X-Consul-Index"), "0") << target;
  }
  EXPECT_EQ(world_.Get("kv/?recurse"), "404 ");
  EXPECT_EQ(world_.Get("kv/?keys"), "200 []");
}

TEST_F(KvRoutesTest, WithoutAKeyOnlyPrefixesAreRead) {
  world_.Start();
  EXPECT_EQ(world_.Get("kv/"), "400 Missing key name");
  EXPECT_EQ(world_.Get("kv"), "400 Missing key name");
  EXPECT_EQ(world_.Put("kv/"), "400 Missing key name");
  EXPECT_EQ(world_.Delete("kv/"), "400 Missing key name");
  EXPECT_EQ(world_.Delete("kv/?recurse"), "200 true");
}

TEST_F(KvRoutesTest, AnyCharactersMayStandInAKey) {
  world_.Start();
  EXPECT_EQ(world_.Put("kv/a%20b//..%2Fc%25%C3%A9", "x"), "200 true");
  EXPECT_EQ(world_.store.Contents().count("/kvorum/kv/a b//../c%\xC3\xA9"), 1U);
  EXPECT_EQ(world_.Pair("a%20b//..%2Fc%25%C3%A9").at("Key"), "a b//../c%\xC3\xA9");
}

TEST_F(KvRoutesTest, AKeyOfAnotherClientThatIsNoTextIsShownAsFarAsItIs) {
  world_.Start();
  world_.Commit({{"/kvorum/kv/\xff", "x"}});
  EXPECT_EQ(world_.Ask("GET", "kv/?recurse")->json().at(0).at("Key"), "\xEF\xBF\xBD");
}

TEST_F(KvRoutesTest, RawIsTheValueAlone) {
  world_.Start();
  world_.Put("kv/a", "<b>x</b>");
  const auto answer = world_.Ask("GET", "kv/a?raw");
  EXPECT_EQ(answer->line(), "200 <b>x</b>");
  EXPECT_EQ(answer->content_type, "text/plain");
  EXPECT_EQ(answer->header("X-Content-Type-Options"), "nosniff");
  EXPECT_EQ(answer->header("Content-Security-Policy"), "sandbox");
}

TEST_F(KvRoutesTest, AnyPrefixOfTextIsRecursedAndPresenceCounts) {
  world_.Start();
  for (const char* key : {"kv/ab", "kv/a/1", "kv/a/2", "kv/b"}) world_.Put(key, "x");
  std::vector<std::string> keys;
  for (const Json& pair : world_.Ask("GET", "kv/a?recurse=false")->json())
    keys.push_back(pair.at("Key"));
  EXPECT_EQ(keys, (std::vector<std::string>{"a/1", "a/2", "ab"}));
}

TEST_F(KvRoutesTest, KeysAreCutBehindTheSeparatorAndNotDoubled) {
  world_.Start();
  for (const char* key : {"kv/a/1/x", "kv/a/1/y", "kv/a/2", "kv/a/", "kv/b"}) world_.Put(key, "x");
  EXPECT_EQ(world_.Get("kv/?keys"), R"(200 ["a/","a/1/x","a/1/y","a/2","b"])");
  EXPECT_EQ(world_.Get("kv/?keys&separator=/"), R"(200 ["a/","b"])");
  EXPECT_EQ(world_.Get("kv/a/?keys&separator=/"), R"(200 ["a/","a/1/","a/2"])");
  EXPECT_EQ(world_.Get("kv/a/?keys&seperator=/"), R"(200 ["a/","a/1/","a/2"])");
  EXPECT_EQ(world_.Get("kv/a?keys&separator=/"), R"(200 ["a/"])");
}

TEST_F(KvRoutesTest, AWriteOfTheSameWritesNothing) {
  world_.Start();
  world_.Put("kv/a?flags=1", "x");
  const std::int64_t revision = world_.store.revision();
  EXPECT_EQ(world_.Put("kv/a?flags=1", "x"), "200 true");
  EXPECT_EQ(world_.Put("kv/a?flags=1&cas=" + std::to_string(revision), "x"), "200 true");
  EXPECT_EQ(world_.store.revision(), revision);
  // Without flags they are reset.
  EXPECT_EQ(world_.Put("kv/a", "x"), "200 true");
  EXPECT_EQ(world_.store.revision(), revision + 1);
  EXPECT_EQ(world_.Pair("a").at("Flags"), 0);
  EXPECT_FALSE(world_.Has("kvmeta/a"));
}

TEST_F(KvRoutesTest, FlagsAloneMoveTheModifyIndex) {
  world_.Start();
  world_.Put("kv/a", "x");
  const Json before = world_.Pair("a");
  world_.Put("kv/a?flags=18446744073709551615", "x");
  const Json after = world_.Pair("a");
  EXPECT_EQ(after.at("Flags"), 18446744073709551615ULL);
  EXPECT_EQ(after.at("CreateIndex"), before.at("CreateIndex"));
  EXPECT_GT(after.at("ModifyIndex"), before.at("ModifyIndex"));
}

TEST_F(KvRoutesTest, CasWritesOnlyWhatItHasSeen) {
  world_.Start();
  EXPECT_EQ(world_.Put("kv/a?cas=7", "x"), "200 false");
  EXPECT_EQ(world_.Put("kv/a?cas=0", "x"), "200 true");
  EXPECT_EQ(world_.Put("kv/a?cas=0", "y"), "200 false");
  const std::string index = world_.Pair("a").at("ModifyIndex").dump();
  EXPECT_EQ(world_.Put("kv/a?cas=" + index, "y"), "200 true");
  EXPECT_EQ(world_.Put("kv/a?cas=" + index, "z"), "200 false");
  EXPECT_EQ(world_.store.Contents().at("/kvorum/kv/a"), "y");
}

TEST_F(KvRoutesTest, DeleteIsTrueForWhatWasNeverThere) {
  world_.Start();
  EXPECT_EQ(world_.Delete("kv/a"), "200 true");
  EXPECT_EQ(world_.Delete("kv/a?cas=5"), "200 true");
  world_.Put("kv/a?flags=1", "x");
  const std::string index = world_.Pair("a").at("ModifyIndex").dump();
  EXPECT_EQ(world_.Delete("kv/a?cas=0"), "200 false");
  EXPECT_EQ(world_.Delete("kv/a?cas=1"), "200 false");
  EXPECT_EQ(world_.Delete("kv/a?cas=" + index), "200 true");
  EXPECT_EQ(world_.CountOf("kv"), 0U);  // neither value nor meta
}

TEST_F(KvRoutesTest, ATreeIsDeletedWithItsMetas) {
  world_.Start();
  for (const char* key : {"kv/a/1?flags=1", "kv/a/2", "kv/b?flags=1"}) world_.Put(key, "x");
  EXPECT_EQ(world_.Delete("kv/a?recurse"), "200 true");
  EXPECT_EQ(world_.Get("kv/?keys"), R"(200 ["b"])");
  EXPECT_EQ(world_.CountOf("kvmeta/"), 1U);
}

TEST_F(KvRoutesTest, ANewLifeOfAKeyBeginsWithoutTheMetaOfTheOld) {
  world_.Start();
  world_.Put("kv/a?flags=9", "x");
  // Another client of the store deletes and writes the value alone.
  world_.Commit({{"/kvorum/kv/a", std::nullopt}});
  EXPECT_EQ(world_.Get("kv/a"), "404 ");
  world_.Commit({{"/kvorum/kv/a", "y"}});
  EXPECT_EQ(world_.Pair("a").at("Flags"), 0);
  world_.Put("kv/a", "z");
  EXPECT_FALSE(world_.Has("kvmeta/a"));
}

TEST_F(KvRoutesTest, FaultsOfParametersHaveTheirTexts) {
  world_.Start();
  for (const auto& [target, line] : std::vector<std::pair<std::string, std::string>>{
           {"kv/a?flags=x", "500 strconv.ParseUint: parsing \"x\": invalid syntax"},
           {"kv/a?flags=-1", "500 strconv.ParseUint: parsing \"-1\": invalid syntax"},
           {"kv/a?cas", "500 strconv.ParseUint: parsing \"\": invalid syntax"},
           {"kv/a?cas=1&acquire=s", "400 Conflicting flags: acquire=s&cas=1\n"},
           {"kv/a?acquire=s&release=s", "400 Conflicting flags: acquire=s&release=s\n"},
           {"kv/a?acquire", "500 missing session"},
           {"kv/a?release", "500 missing session"},
           {"kv/a?acquire=missing", "500 invalid session \"missing\""},
           {"kv/a?acquire=a%2Fb", "500 invalid session \"a/b\""},
           {"kv/a?dc=other", "500 No path to datacenter"}})
    EXPECT_EQ(world_.Put(target), line) << target;
  EXPECT_EQ(world_.Delete("kv/a?cas=1&recurse"), "400 Conflicting flags: cas=1&recurse=\n");
  EXPECT_EQ(world_.Delete("kv/a?cas=x"), "500 strconv.ParseUint: parsing \"x\": invalid syntax");
  EXPECT_EQ(world_.Get("kv/a?index=x"), "400 Invalid index");
  EXPECT_EQ(world_.Get("kv/a?wait=x"), "400 Invalid wait time");
  EXPECT_EQ(world_.Get("kv/a?stale&consistent"),
            "400 Cannot specify ?stale with ?consistent, conflicting semantics.");
  EXPECT_EQ(world_.Get("kv/a?dc=other"), "500 No path to datacenter");
}

TEST_F(KvRoutesTest, ALargeValueIsRefused) {
  world_.Start();
  EXPECT_EQ(world_.Put("kv/a", std::string(524'288, 'x')), "200 true");
  EXPECT_EQ(world_.Put("kv/a", std::string(524'289, 'x')),
            "413 Request body(524289 bytes) too large, max size: 524288 bytes. See "
            "docs/consul.md.");
}

TEST_F(KvRoutesTest, AWriterBetweenReadAndWriteIsNotOverwritten) {
  world_.Start();
  world_.Put("kv/a", "1");
  const std::string index = world_.Pair("a").at("ModifyIndex").dump();
  int times = 1;
  world_.store.set_before_write([&] {
    if (times-- > 0) world_.store.Put("/kvorum/kv/a", "2");
  });
  EXPECT_EQ(world_.Put("kv/a?cas=" + index, "3"), "200 false");
  EXPECT_EQ(world_.store.Contents().at("/kvorum/kv/a"), "2");
  // A plain put comes after it.
  times = 3;
  EXPECT_EQ(world_.Put("kv/a", "4"), "200 true");
  EXPECT_EQ(world_.store.Contents().at("/kvorum/kv/a"), "4");
}

TEST_F(KvRoutesTest, APutThatIsAlwaysTooLateSaysSo) {
  world_.Start();
  int value = 0;
  world_.store.set_before_write([&] { world_.store.Put("/kvorum/kv/a", std::to_string(++value)); });
  EXPECT_EQ(world_.Put("kv/a", "x"), "500 the keys are written by others all the time");
  EXPECT_EQ(value, 16);
}

TEST_F(KvRoutesTest, ErrorsOfTheStoreHaveTheirTexts) {
  world_.Start();
  EXPECT_EQ(world_.Ask("PUT", "kv/a", "x", "forbidden")->line(),
            "403 Permission denied: etcdserver: permission denied");
  EXPECT_EQ(world_.Ask("GET", "kv/a", "", "unknown")->line(), "403 ACL not found");
  world_.store.FailWrites({Code::kUnavailable, "lost"}, 1);
  EXPECT_EQ(world_.Put("kv/a", "x"), "500 No cluster leader");
}

TEST_F(KvRoutesTest, ManyKeysAreReadInPagesAtOneRevision) {
  world_.Start();
  std::vector<sync::FakeStore::Write> writes;
  for (int i = 0; i < 1'000; ++i)
    writes.emplace_back("/kvorum/kv/k" + std::to_string(10'000 + i), std::string(1'000, 'x'));
  world_.Commit(writes);
  world_.Put("kv/k10500?flags=3", "y");
  world_.store.RefuseAnswersAbove(30'000);
  const Json pairs = world_.Ask("GET", "kv/k?recurse")->json();
  ASSERT_EQ(pairs.size(), 1'000U);
  EXPECT_EQ(pairs.at(500).at("Flags"), 3);
  EXPECT_EQ(pairs.at(999).at("Key"), "k10999");
  EXPECT_LE(world_.store.largest_range(), 30U);
}

TEST_F(KvRoutesTest, AnAnswerThatIsTooLargeIsRefused) {
  world_.Start();
  std::vector<sync::FakeStore::Write> writes;
  for (int i = 0; i < 70; ++i)
    writes.emplace_back("/kvorum/kv/k" + std::to_string(i), std::string(1'000'000, 'x'));
  world_.Commit(writes);
  EXPECT_EQ(world_.Get("kv/k?recurse"),
            "500 the answer is larger than 67108864 bytes: ask for a longer prefix");
  EXPECT_EQ(world_.Ask("GET", "kv/k?keys")->json().size(), 70U);
  EXPECT_EQ(world_.Ask("GET", "kv/k1?recurse")->json().size(), 11U);
}

TEST_F(KvRoutesTest, AStoreThatIsSilentEndsReadsAfterSevenSeconds) {
  world_.Start();
  world_.Put("kv/a", "x");
  const std::string index = world_.IndexOf("kv/a");
  const auto waiting = world_.Send("GET", "kv/a?wait=10s&index=" + index);
  world_.store.HoldRanges();
  const auto key = world_.Send("GET", "kv/a");
  const auto blocking = world_.Send("GET", "kv/b?wait=10s&index=1");
  world_.executor.Advance(std::chrono::milliseconds(6'999));
  for (const auto& answer : {key, blocking}) EXPECT_FALSE(answer->is_answered());
  world_.executor.Advance(std::chrono::milliseconds(1));
  for (const auto& answer : {key, blocking}) EXPECT_EQ(answer->line(), "500 No cluster leader");
  EXPECT_FALSE(waiting->is_answered());
  world_.executor.Advance(std::chrono::milliseconds(10'000 + 10'000 / 16));
  EXPECT_EQ(waiting->line(), "500 No cluster leader");
  world_.store.LetGo();
  world_.executor.Settle();
  for (const auto& answer : {key, blocking, waiting}) EXPECT_EQ(answer->answers, 1);
  EXPECT_EQ(world_.Ask("GET", "kv/a")->status, 200U);
}

// The store may fall silent between the question for its revision and the values.
TEST_F(KvRoutesTest, AReadOfValuesThatIsNotAnsweredEndsAfterSevenSeconds) {
  world_.Start();
  world_.Put("kv/a", "x");
  const int before = world_.store.ranges();
  world_.store.FailRanges({Code::kUnavailable, "no leader"}, 1);
  EXPECT_EQ(world_.Get("kv/a"), "500 No cluster leader");
  EXPECT_EQ(world_.store.ranges(), before + 1);
  world_.store.HoldRanges();
  const auto stale = world_.Send("GET", "kv/a?stale");  // asks for no revision
  world_.executor.Advance(std::chrono::seconds(7));
  EXPECT_EQ(stale->line(), "500 No cluster leader");
}

TEST_F(KvRoutesTest, RequestsUnderWayAreDroppedWithTheRoutes) {
  KvWorld world;
  world.Start();
  world.store.HoldRanges();
  std::shared_ptr<FakeAnswer> answer;
  {
    KvRoutes routes({.copy = world.copy,
                     .reading = world.reading,
                     .access = world.access,
                     .changes = world.changes,
                     .executor = world.executor});
    auto [exchange, its] = MakeExchange({.target = "/v1/kv/a", .loop = &world.executor}, "a");
    answer = its;
    routes.Routes().front().handle(std::move(exchange));
    world.executor.Settle();
  }
  world.store.LetGo();
  world.executor.Settle();
  EXPECT_EQ(answer->answers, 1);
  EXPECT_EQ(answer->status, 500U);
}

}  // namespace
}  // namespace kvorum::consul
