// The parts of an entry for readers of kept records: their bounds, their forms, and the checks of a
// node beside services.
#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/sync/agent_world.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr TimePoint kReportTime{1'000'000'000};

Entry PlainEntry(const std::string& id) { return {.id = id, .name = "web", .value = "v"}; }

Check PlainCheck(const std::string& id) { return {.definition = {.id = id}}; }

std::string WhyNot(const Entry& entry) {
  Registry registry;
  const auto added = registry.Register(entry);
  return added ? std::string() : added.error().message;
}

TEST(SyncEntryDetails, BadOnesAreRefusedByName) {
  Entry entry = PlainEntry("a");
  for (const char* details : {"[]", "{", "x", "{}{}", "{\"a\":\"\xff\"}"}) {
    entry.details = details;
    EXPECT_EQ(WhyNot(entry), "entry a: it has details that are not a JSON object") << details;
  }
  entry.details = R"({"a":)" + std::string(101, '[') + std::string(101, ']') + "}";
  EXPECT_EQ(WhyNot(entry), "entry a: it has details that are nested too deeply");
  entry.details = R"({"a":")" + std::string(kMaxRecordBytes, 'x') + R"("})";
  EXPECT_EQ(WhyNot(entry), "entry a: it has details of more than 262144 bytes");
  entry.details = R"({"a":")" + std::string(200'000, 'x') + R"("})";
  EXPECT_EQ(WhyNot(entry), "");
  entry.checks = {PlainCheck("c")};
  entry.checks[0].definition.details = entry.details;
  EXPECT_EQ(WhyNot(entry), "entry a: its record is larger than 262144 bytes");
  entry.details.clear();
  entry.checks[0].definition.details = "7";
  EXPECT_EQ(WhyNot(entry), "entry a: check c: it has details that are not a JSON object");
  entry = PlainEntry("a");
  entry.token = "a\nb";
  EXPECT_EQ(WhyNot(entry),
            "entry a: its token is longer than 8192 bytes or has a control character");
}

TEST(SyncEntryDetails, ACheckOfTheNodeHasOneForm) {
  const Entry right = NodeCheck(PlainCheck("disk.free"));
  EXPECT_EQ(right.id, ".disk.free");
  EXPECT_EQ(WhyNot(right), "");
  Entry entry = right;
  entry.id = "disk";
  EXPECT_EQ(WhyNot(entry), "entry disk: its id is not a dot and its check's id");
  entry = right;
  entry.name = "web";
  EXPECT_EQ(WhyNot(entry), "entry .disk.free: a check of the node has no name, value or details");
  entry = right;
  entry.checks.push_back(PlainCheck("other"));
  EXPECT_EQ(WhyNot(entry), "entry .disk.free: a check of the node is one check");
  entry.checks.clear();
  EXPECT_EQ(WhyNot(entry), "entry .disk.free: a check of the node is one check");
  EXPECT_EQ(WhyNot(NodeCheck(PlainCheck("a/b"))), "the id contains a slash");
  EXPECT_EQ(WhyNot(NodeCheck(PlainCheck(std::string(255, 'x')))),
            "the id is longer than 255 bytes");
}

TEST(SyncEntryDetails, ANodesChecksShareTheBoundsOfARecord) {
  Registry registry({.keeps_records = true});
  for (std::size_t i = 0; i < kMaxChecks; ++i)
    ASSERT_TRUE(registry.Register(NodeCheck(PlainCheck(std::to_string(i)))));
  EXPECT_EQ(registry.Register(NodeCheck(PlainCheck("one more"))).error().message,
            "the node has more than 64 checks");
  EXPECT_TRUE(registry.Register(NodeCheck(PlainCheck("7")))) << "it is there";
  ASSERT_TRUE(registry.Deregister(".7"));
  EXPECT_TRUE(registry.Register(NodeCheck(PlainCheck("one more"))));
  Check large = PlainCheck("8");
  large.definition.details = R"({"a":")" + std::string(150'000, 'x') + R"("})";
  EXPECT_TRUE(registry.Register(NodeCheck(large)));
  large.definition.id = "9";
  EXPECT_EQ(registry.Register(NodeCheck(large)).error().message,
            "the node's record is larger than 262144 bytes");
}

TEST(SyncEntryDetails, EqualDetailsAreEqualInAnySpelling) {
  Rng rng(1);
  Registry registry;
  Entry entry = PlainEntry("a");
  entry.checks = {PlainCheck("up")};
  entry.checks[0].definition.details = R"({"a":1,"b":"\u00e4"})";
  ASSERT_TRUE(registry.Register(entry));
  ASSERT_TRUE(registry.UpdateCheck("a", "up", Health::kPassing, "fine", kReportTime, rng));
  entry.checks[0].definition.details = "{ \"a\": 1, \"b\": \"\xc3\xa4\" }";
  ASSERT_TRUE(registry.Register(entry));
  const auto list = registry.List(Registry::Which::kVisible);
  EXPECT_EQ(list[0].entry.checks[0].health, Health::kPassing) << "its result is kept";
  EXPECT_EQ(list[0].entry.checks[0].definition.details, "{\"a\":1,\"b\":\"\xc3\xa4\"}");
}

TEST(SyncEntryDetails, TheOutputsOfManyChecksAreCutToEqualParts) {
  Registry registry({.keeps_records = true});
  Entry entry = PlainEntry("a");
  for (std::size_t i = 0; i < kMaxChecks; ++i) {
    entry.checks.push_back(PlainCheck(std::to_string(i)));
    entry.checks.back().output = std::string(kMaxOutputBytes, 'x');
  }
  ASSERT_TRUE(registry.Register(entry));
  const auto changes = registry.TakeChanges();
  const auto change = std::ranges::find(changes, "a", &Registry::Change::id);
  ASSERT_NE(change, changes.end());
  const auto record = DecodeRecord(change->record.value());
  ASSERT_TRUE(record);
  for (const CheckStatus& check : record->checks)
    EXPECT_THAT(check.output, SizeIs(kMaxOutputsBytes / kMaxChecks));
  EXPECT_LT(change->kept.value().size(), 2 * kMaxOutputsBytes);
  entry.checks.resize(16);
  ASSERT_TRUE(registry.Register(entry));
  EXPECT_EQ(DecodeRecord(registry.TakeChanges().back().record.value())->checks[0].output,
            std::string(kMaxOutputBytes, 'x'));
  entry.checks.resize(65, PlainCheck("x"));
  EXPECT_EQ(WhyNot(entry), "entry a: it has more than 64 checks");
}

TEST(SyncEntryDetails, AReportOfANodesCheckWithoutRecordsIsKeptHereAlone) {
  Rng rng(1);
  Registry registry;
  ASSERT_TRUE(registry.Register(NodeCheck(PlainCheck("disk"))));
  const std::uint64_t version = registry.last_version();
  EXPECT_EQ(registry.UpdateCheck(".disk", "disk", Health::kPassing, "", kReportTime, rng), true);
  EXPECT_GT(registry.last_version(), version) << "it is saved";
  EXPECT_EQ(registry.dirty(), 0U);
  EXPECT_THAT(registry.TakeChanges(), IsEmpty());
  EXPECT_THAT(registry.Shown(), SizeIs(1));
  ASSERT_TRUE(registry.Deregister(".disk"));
  EXPECT_THAT(registry.List(Registry::Which::kAll), IsEmpty());
}

TEST(SyncKept, ARecordIsWrittenInOneForm) {
  KeptService record{.id = "web-1", .name = "web", .value = std::string("\xff\0", 2)};
  record.checks = {{.status = {.id = "up", .health = Health::kWarning, .output = "slow"},
                    .details = R"({"z":1,"a":{}})"}};
  EXPECT_EQ(EncodeKeptService(record),
            R"({"id":"web-1","name":"web","value_base64":"/wA=","details":{},"checks":)"
            R"([{"id":"up","status":"warning","output":"slow","details":{"z":1,"a":{}}}]})");
  EXPECT_EQ(EncodeKeptNode({.is_external = true, .details = R"({"id":""})"}),
            R"({"is_external":true,"details":{"id":""},"checks":[]})");
  const CatalogKeys keys("/r");
  EXPECT_EQ(keys.KeptNode("n1"), "/r/registry/node/n1");
  EXPECT_EQ(keys.KeptService("n1", "web-1"), "/r/registry/service/n1/web-1");
  EXPECT_EQ(keys.Life("n1"), "/r/registry/life/n1");
}

TEST(SyncState, DetailsAndTokensAreReadAsTheyWereWritten) {
  AgentState state{.node = "n1"};
  Entry entry = PlainEntry("a");
  entry.details = R"({"tags":["x"],"meta":{"k":"v"}})";
  entry.token = "user:pass\xffword";
  entry.checks = {{.definition = {.id = "up",
                                  .kind = CheckKind::kHttp,
                                  .target = "http://127.0.0.1/",
                                  .method = "POST",
                                  .headers = {{"Host", {"web"}}, {"X-A", {"1", "\xff"}}},
                                  .body = std::string("\0\xff", 2),
                                  .failures_before_critical = 3,
                                  .failures_before_warning = 2,
                                  .details = R"({"name":"up"})"}}};
  state.entries = {entry, NodeCheck(PlainCheck("disk"))};
  const auto read = DecodeState(EncodeState(state));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, state);
  for (const Entry& each : state.entries) EXPECT_EQ(DecodeEntry(EncodeEntry(each)), each);
  EXPECT_THAT(EncodeEntry(entry), HasSubstr(R"("details":{"tags":["x"],"meta":{"k":"v"}})"));
}

TEST(SyncState, AnEntryWithoutThemIsWrittenAsBefore) {
  Entry entry = PlainEntry("a");
  entry.checks = {PlainCheck("up")};
  EXPECT_EQ(EncodeEntry(entry),
            R"({"id":"a","name":"web","value":"v","checks":[{"id":"up","kind":"ttl",)"
            R"("interval_ns":10000000000,"timeout_ns":5000000000,"successes_before_passing":1,)"
            R"("failures_before_critical":1,"status":"critical","output":""}]})");
}

// The entry of one check with these members.
Result<Entry> ReadCheck(const std::string& members) {
  return DecodeEntry(R"({"id":"a","name":"web","checks":[{"id":"up","kind":"ttl",)" + members +
                     "}]}");
}

TEST(SyncState, DurationsAreReadAsTextsOrNanoseconds) {
  const auto entry = ReadCheck(R"("interval":"1m30s","timeout":"250ms")");
  ASSERT_TRUE(entry) << entry.error().message;
  EXPECT_EQ(entry->checks[0].definition.interval, Duration(90s));
  EXPECT_EQ(entry->checks[0].definition.timeout, Duration(250ms));
  EXPECT_EQ(ReadCheck(R"("interval_ns":2000000000)")->checks[0].definition.interval, Duration(2s));
  EXPECT_EQ(ReadCheck(R"("interval":2000000000)")->checks[0].definition.interval, Duration(2s));
  const auto why = [](const std::string& members) { return ReadCheck(members).error().message; };
  EXPECT_EQ(why(R"("interval":"5s","interval_ns":5000000000)"),
            "\"interval\" and \"interval_ns\" are both given");
  EXPECT_EQ(why(R"("timeout":"5s","timeout_ns":5000000000)"),
            "\"timeout\" and \"timeout_ns\" are both given");
  EXPECT_EQ(why(R"("interval":"5")"), "\"interval\" is not a duration such as \"5s\"");
  EXPECT_EQ(why(R"("interval":true)"), "\"interval\" is not a string");
  EXPECT_EQ(why(R"("interval":"-5s")"), "entry a: check up: its interval is below 100 ms");
}

TEST(SyncState, AMemberThatIsNotKnownIsAnErrorInADefinition) {
  const auto why = [](const std::string& text) { return DecodeEntry(text).error().message; };
  EXPECT_EQ(why(R"({"id":"a","name":"web","port":80})"), "\"port\" is not a member of an entry");
  EXPECT_EQ(why(R"({"Name":"web"})"), "\"Name\" is not a member of an entry");
  EXPECT_EQ(why(R"({"id":"a","name":"web","check":{"ttl":"5s"}})"),
            "\"check\" is not a member of an entry");
  EXPECT_EQ(ReadCheck(R"("http":"http://127.0.0.1/")").error().message,
            "\"http\" is not a member of a check");
  EXPECT_EQ(ReadCheck(R"("success_before_passing":2)").error().message,
            "\"success_before_passing\" is not a member of a check");
}

TEST(SyncState, AMemberThatIsNotKnownIsIgnoredInAState) {
  const auto read =
      DecodeState(R"({"format":1,"node":"n1","lease":0,"session_revision":0,"later":1,"entries":[)"
                  R"({"id":"a","name":"web","value":"","later":1,"checks":[)"
                  R"({"id":"up","kind":"ttl","later":1}]}]})");
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->entries.size(), 1U);
}

TEST(SyncState, AnOutputsSizeIsPositiveAndBounded) {
  const auto size = [](const std::string& number) {
    const auto entry = ReadCheck("\"output_max_size\":" + number);
    return entry ? entry->checks[0].definition.output_max_bytes : 0;
  };
  EXPECT_EQ(size("100"), 100U);
  EXPECT_EQ(size("100000"), kMaxOutputBytes);
  EXPECT_EQ(size("0"), 0U) << "refused";
  EXPECT_EQ(size("-1"), 0U) << "refused";
}

// Each member that is written is one that a definition may have.
TEST(SyncState, AnEntryWithEverythingIsADefinition) {
  Entry entry = PlainEntry("a");
  entry.value = "\xff";
  entry.source = "\xff";
  entry.token = "\xff";
  entry.details = R"({"anything":1})";
  Check http = PlainCheck("up");
  http.definition.kind = CheckKind::kHttp;
  http.definition.target = "http://127.0.0.1/\xff";
  http.definition.follows_redirects = true;
  http.definition.tls = {.ca_file = "\xff", .server_name = "\xff", .skip_verify = true};
  http.definition.method = "PUT";
  http.definition.headers = {{"A", {"b", "\xff"}}};
  http.definition.body = "\xff";
  http.definition.failures_before_critical = 3;
  http.definition.failures_before_warning = 2;
  http.definition.details = R"({"anything":1})";
  http.definition.output_max_bytes = 100;
  http.reported_unix_ns = 7;
  Check tcp = PlainCheck("tcp");
  tcp.definition.kind = CheckKind::kTcp;
  tcp.definition.target = "127.0.0.1:80";
  tcp.definition.uses_tls = true;
  Check exec = PlainCheck("exec");
  exec.definition.kind = CheckKind::kExec;
  exec.definition.command = {"true", "\xff"};
  entry.checks = {http, tcp, exec};
  const auto read = DecodeEntry(EncodeEntry(entry));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, entry);
  const Entry node = NodeCheck(tcp);
  EXPECT_EQ(DecodeEntry(EncodeEntry(node)), node);
}

TEST(SyncState, MembersOfAnotherKindAreErrors) {
  const auto why = [](const std::string& members) {
    return DecodeEntry(R"({"id":"a","name":"web",)" + members + "}").error().message;
  };
  EXPECT_EQ(why(R"("details":[])"), "\"details\" is not an object");
  EXPECT_EQ(why(R"("kind":"service")"), "\"kind\" of an entry is \"node\" or left out");
  EXPECT_EQ(why(R"("token":7)"), "\"token\" is not a string");
  EXPECT_EQ(ReadCheck(R"("headers":[])").error().message, "\"headers\" is not an object");
  EXPECT_EQ(ReadCheck(R"("headers":{"A":"b"})").error().message, "\"A\" is not an array");
  EXPECT_EQ(ReadCheck(R"("method":"GET")").error().message,
            "entry a: check up: its kind has no method, headers or body");
  EXPECT_EQ(ReadCheck(R"("failures_before_warning":2)").error().message,
            "entry a: check up: its failures before a warning are negative or more than those "
            "before critical");
}

}  // namespace
}  // namespace kvorum::sync
