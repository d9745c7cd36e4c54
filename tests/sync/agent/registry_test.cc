// The registry by itself, its entries' bounds, and the forms in which they are written.
#include "sync/agent/registry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "sync/agent/agent_state.h"
#include "sync/agent/catalog.h"
#include "sync/agent/state_file.h"
#include "sync/store/codec_json.h"
#include "tests/damage.h"

namespace kvorum::sync {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

constexpr TimePoint kUpdateTime{1'000'000'000};

Check TtlCheck(const std::string& id) { return {.definition = {.id = id}}; }

Entry Web(const std::string& id) { return {.id = id, .name = "web", .value = "v"}; }

TEST(SyncRegistry, ARegistrationKeepsTheResultsOfEqualChecks) {
  Rng rng(1);
  Registry registry;
  Entry entry = Web("a");
  entry.checks = {TtlCheck("one"), TtlCheck("two")};
  ASSERT_TRUE(registry.Register(entry));
  ASSERT_TRUE(registry.UpdateCheck("a", "one", Health::kPassing, "fine", kUpdateTime, rng));
  ASSERT_TRUE(registry.UpdateCheck("a", "two", Health::kPassing, "fine", kUpdateTime, rng));
  entry.checks[1].definition.interval = 1min;
  ASSERT_TRUE(registry.Register(entry));
  const auto list = registry.List(Registry::Which::kVisible);
  EXPECT_EQ(list[0].entry.checks[0].health, Health::kPassing);
  EXPECT_EQ(list[0].entry.checks[1].health, Health::kCritical);
}

TEST(SyncRegistry, AnEqualResultOfACheckIsNothing) {
  Rng rng(1);
  Registry registry;
  Entry entry = Web("a");
  entry.checks = {TtlCheck("up")};
  ASSERT_TRUE(registry.Register(entry));
  EXPECT_EQ(registry.UpdateCheck("a", "up", Health::kPassing, "x", kUpdateTime, rng), true);
  const std::uint64_t version = registry.last_version();
  EXPECT_EQ(registry.UpdateCheck("a", "up", Health::kPassing, "x", kUpdateTime, rng), false);
  EXPECT_EQ(registry.last_version(), version);
  EXPECT_EQ(registry.next_output(), kNever);
}

TEST(SyncRegistry, AnOutputThatChangedBackIsNotWritten) {
  Rng rng(1);
  Registry registry({.output_interval = 10s});
  Entry entry = Web("a");
  entry.checks = {TtlCheck("up")};
  ASSERT_TRUE(registry.Register(entry));
  EXPECT_EQ(registry.UpdateCheck("a", "up", Health::kCritical, "x", kUpdateTime, rng), false);
  EXPECT_NE(registry.next_output(), kNever);
  EXPECT_EQ(registry.UpdateCheck("a", "up", Health::kCritical, "", kUpdateTime, rng), false);
  EXPECT_FALSE(registry.TakeDueOutputs(kUpdateTime + 15s));
  EXPECT_EQ(registry.next_output(), kNever);
}

TEST(SyncRegistry, BadEntriesAreRefusedByName) {
  Registry registry;
  const auto why = [&](const Entry& entry) {
    const auto added = registry.Register(entry);
    return added ? std::string() : added.error().message;
  };
  EXPECT_EQ(why(Web("")), "the id is empty");
  EXPECT_EQ(why(Web("a/b")), "the id contains a slash");
  EXPECT_EQ(why(Web("a.b")), "the id contains a dot");
  EXPECT_EQ(why(Web(std::string("a\0b", 3))), "the id contains a control character");
  EXPECT_EQ(why(Web("\xff")), "the id is not UTF-8");
  EXPECT_EQ(why(Web(std::string(256, 'a'))), "the id is longer than 255 bytes");
  EXPECT_EQ(why({.id = "a", .name = "x/y", .value = ""}), "the name contains a slash");
  EXPECT_EQ(why({.id = "a", .name = "web", .value = std::string(1 << 20, 'x')}),
            "entry a: its record is larger than 262144 bytes");
  EXPECT_EQ(why({.id = "a", .name = "web", .value = std::string(200'000, '\x01')}),
            "entry a: its record is larger than 262144 bytes");
  const auto with = [](const CheckDefinition& check) {
    return Entry{.id = "a", .name = "web", .value = "", .checks = {{.definition = check}}};
  };
  EXPECT_EQ(why(with({.id = "c", .kind = CheckKind::kHttp})), "entry a: check c: it has no target");
  EXPECT_EQ(why(with({.id = "c", .kind = CheckKind::kHttp, .target = "ftp://x"})),
            "entry a: check c: its target is not an http:// or https:// URL");
  EXPECT_EQ(why(with({.id = "c",
                      .kind = CheckKind::kHttp,
                      .target = "http://x",
                      .tls = {.skip_verify = true}})),
            "entry a: check c: it has TLS options, and its target is not an https:// URL");
  for (const char* target : {"http://x/\r\nCookie: 1", "http://x/\n", "http://x/ HTTP/1.1",
                             "http://x\t/", "http://x/\x7f"}) {
    EXPECT_EQ(why(with({.id = "c", .kind = CheckKind::kHttp, .target = target})),
              "entry a: check c: its target has a space or a control character");
  }
  EXPECT_EQ(why(with({.id = "c", .kind = CheckKind::kTcp, .target = "127.0.0.1:1\n"})),
            "entry a: check c: its target has a space or a control character");
  EXPECT_EQ(why(with({.id = "c",
                      .kind = CheckKind::kHttp,
                      .target = "https://x",
                      .tls = {.server_name = "a\nb"}})),
            "entry a: check c: its target has a space or a control character");
  EXPECT_EQ(why(with({.id = "c", .kind = CheckKind::kExec})),
            "entry a: check c: it has no command");
  EXPECT_EQ(why(with({.id = "c", .interval = 1ms})),
            "entry a: check c: its interval is below 100 ms");
  EXPECT_EQ(why(with({.id = "c", .interval = 24h * 365 + 1ns})),
            "entry a: check c: its interval is beyond 365 days");
  EXPECT_EQ(why(with({.id = "c", .timeout = 24h * 365 + 1ns})),
            "entry a: check c: its time-out is beyond 365 days");
  EXPECT_EQ(why(with({.id = "c", .failures_before_critical = 0})),
            "entry a: check c: its thresholds are not positive");
  EXPECT_EQ(why({.id = "a", .name = "web", .value = "", .checks = {TtlCheck("c"), TtlCheck("c")}}),
            "entry a: two checks are called c");
  EXPECT_THAT(registry.List(Registry::Which::kAll), IsEmpty());
  EXPECT_EQ(why(Web("a")), "");
}

TEST(SyncRegistry, AnOutputIsCutAndCleaned) {
  EXPECT_EQ(CleanOutput(std::string("a\0b\x1b[1m\n\tc\xff", 11)), "a b [1m\n\tc\xef\xbf\xbd");
  EXPECT_THAT(CleanOutput(std::string(100'000, 'x')), SizeIs(kMaxOutputBytes));
  const std::string cut = CleanOutput("x" + std::string(2100, '\xc3') + "\xa4");
  EXPECT_LE(cut.size(), kMaxOutputBytes);
}

TEST(SyncCatalog, ARecordIsReadAsItWasWritten) {
  const CatalogRecord text{.id = "web1",
                           .name = "web",
                           .value = "10.0.0.1:80",
                           .checks = {{.id = "up", .health = Health::kWarning, .output = "slow"}}};
  EXPECT_EQ(EncodeRecord(text), R"({"id":"web1","name":"web","value":"10.0.0.1:80","checks":)"
                                R"([{"id":"up","status":"warning","output":"slow"}]})");
  EXPECT_EQ(DecodeRecord(EncodeRecord(text)), text);
  EXPECT_EQ(HealthOfRecord(text), Health::kWarning);
  const CatalogRecord bytes{.id = "a", .name = "web", .value = std::string("\xff\0", 2)};
  EXPECT_THAT(EncodeRecord(bytes), HasSubstr(R"("value_base64":"/wA=")"));
  EXPECT_EQ(DecodeRecord(EncodeRecord(bytes)), bytes);
  EXPECT_EQ(HealthOfRecord(bytes), Health::kPassing);
}

// Each length cut and each byte changed: an error or a record, never more.
TEST(SyncCatalog, SpoiledRecordsAndStatesAreErrors) {
  const std::string record = EncodeRecord(
      {.id = "a", .name = "web", .value = "v", .checks = {{.id = "up", .output = "x"}}});
  Entry entry = Web("a");
  entry.checks = {{.definition = {.id = "run", .kind = CheckKind::kExec, .command = {"true"}}}};
  const std::string state = EncodeState({.node = "n1", .lease = 7, .entries = {entry}});
  ForEachCut(record, [](std::string_view cut) { EXPECT_FALSE(DecodeRecord(cut)); });
  ForEachFlip(record, [](std::string_view flipped, std::size_t) {
    if (const auto read = DecodeRecord(flipped)) {
      EXPECT_TRUE(ValidateName("id", read->id));
    }
  });
  ForEachCut(state, [](std::string_view cut) { EXPECT_FALSE(DecodeState(cut)); });
  ForEachFlip(state, [](std::string_view flipped, std::size_t) {
    const auto read = DecodeState(flipped);
    for (const Entry& e : read.value_or(AgentState{}).entries) EXPECT_TRUE(ValidateEntry(e));
  });
  // A copy of it would take a frame of the stack for each bracket.
  const std::string deep = "[" + std::string(500'000, '[') + std::string(500'000, ']') + "]";
  EXPECT_EQ(
      DecodeRecord(R"({"id":"a","name":"b","value":"","checks":)" + deep + "}").error().message,
      "the record is nested too deeply");
  EXPECT_EQ(JsonCodec::Decode(deep).error().message, "a JSON document that is nested too deeply");
  EXPECT_EQ(DecodeRecord("[]").error().message, "the record is not a JSON object");
  EXPECT_EQ(DecodeRecord(R"({"id":"a","name":7})").error().message, "\"name\" is not a string");
  EXPECT_EQ(DecodeState(R"({"format":2})").error().code, Code::kFailedPrecondition);
}

TEST(SyncAgentState, AStateIsReadAsItWasWritten) {
  AgentState state{.node = "n1", .lease = 0x7fffffffffffffff, .session_revision = 12};
  Entry entry = Web("a");
  entry.value = std::string("\xfe\0", 2);
  entry.source = "web.json";
  entry.checks = {
      {.definition = {.id = "up",
                      .kind = CheckKind::kHttp,
                      .target = "https://127.0.0.1:443/health",
                      .tls = {.ca_file = "/ca\xff.pem", .server_name = "web", .skip_verify = true},
                      .interval = 1500ms,
                      .timeout = 1ns,
                      .successes_before_passing = 2,
                      .failures_before_critical = 3},
       .health = Health::kWarning,
       .output = "slow"},
      {.definition = {.id = "run", .kind = CheckKind::kExec, .command = {"sh", "\xff"}}}};
  state.entries = {entry, Web("b")};
  const auto read = DecodeState(EncodeState(state));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(*read, state);
  EXPECT_EQ(DecodeEntry(EncodeEntry(entry)), entry);
  EXPECT_FALSE(DecodeEntry(
      R"({"id":"a","name":"web","checks":[{"id":"up","kind":"ttl","tls_skip_verify":1}]})"));
  EXPECT_EQ(DecodeEntry(R"({"id":"a","name":"web"})"),
            (Entry{.id = "a", .name = "web", .value = ""}));
}

TEST(SyncAgentState, TheFileIsReplacedWholeAndBelongsToOneProcess) {
  const std::filesystem::path dir =
      std::filesystem::path(testing::TempDir()) / ("sync-state-" + std::to_string(getpid()));
  std::filesystem::create_directories(dir);
  const std::string path = dir / "state.json";
  const AgentState state{.node = "n1", .lease = 5, .entries = {Web("a")}};
  {
    auto file = StateFile::Open(path);
    ASSERT_TRUE(file);
    EXPECT_EQ((*file)->Load(), AgentState{});
    EXPECT_EQ(StateFile::Open(path).error().code, Code::kFailedPrecondition);
    (*file)->Save(EncodeState({.node = "n1"}),
                  [](const Result<void>& saved) { EXPECT_TRUE(saved); });
    (*file)->Save(EncodeState(state), [](const Result<void>& saved) { EXPECT_TRUE(saved); });
  }
  EXPECT_EQ(StateFile::Open(path).value()->Load(), state);
  const auto mode = std::filesystem::status(path).permissions();
  EXPECT_EQ(mode, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  std::filesystem::permissions(path, std::filesystem::perms::others_write,
                               std::filesystem::perm_options::add);
  EXPECT_THAT(StateFile::Open(path).error().message, testing::HasSubstr("others may write it"));
  std::filesystem::permissions(path, mode);
  std::filesystem::rename(path, dir / "elsewhere");
  std::filesystem::create_symlink(dir / "elsewhere", path);
  EXPECT_THAT(StateFile::Open(path).error().message, testing::HasSubstr("it is a symbolic link"));
  std::filesystem::rename(dir / "elsewhere", path);
  {
    // A link that comes there after the look at the name is not believed either.
    const auto file = StateFile::Open(path).value();
    std::filesystem::rename(path, dir / "elsewhere");
    std::filesystem::create_symlink(dir / "elsewhere", path);
    EXPECT_EQ(file->Load().error().message, path + ": it is a symbolic link");
    std::filesystem::rename(dir / "elsewhere", path);
    EXPECT_EQ(file->Load(), state);
  }
  std::ofstream(path) << "{";
  EXPECT_EQ(StateFile::Open(path).value()->Load().error().message,
            path + ": the state is not a JSON object");
  std::filesystem::remove_all(dir);
}

}  // namespace
}  // namespace kvorum::sync
