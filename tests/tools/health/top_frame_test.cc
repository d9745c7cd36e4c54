#include "tools/health/top_frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "tools/ctl/commands.h"

namespace kvorum::ctl {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;

MemberReading Reading(std::uint64_t id, std::uint64_t index, std::string_view page) {
  MemberReading reading{.member = {.id = id, .name = "m" + std::to_string(id), .endpoint = "e:1"}};
  etcdserverpb::StatusResponse status;
  status.mutable_header()->set_member_id(id);
  status.mutable_header()->set_revision(static_cast<std::int64_t>(index));
  status.set_leader(1);
  status.set_raftterm(4);
  status.set_raftindex(index);
  status.set_raftappliedindex(index - 1);
  status.set_dbsize(20480);
  reading.status = status;
  reading.metrics = MetricsPage::Parse(page);
  return reading;
}

constexpr std::string_view kPageBefore =
    R"(grpc_server_handled_total{grpc_code="OK",grpc_method="Put"} 10
grpc_server_handled_total{grpc_code="OK",grpc_method="Range"} 5
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.001"} 10
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.002"} 10
etcd_disk_wal_fsync_duration_seconds_bucket{le="+Inf"} 10
)";
constexpr std::string_view kPageNow =
    R"(grpc_server_handled_total{grpc_code="OK",grpc_method="Put"} 30
grpc_server_handled_total{grpc_code="OK",grpc_method="Txn"} 2
grpc_server_handled_total{grpc_code="OK",grpc_method="Range"} 5
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.001"} 10
etcd_disk_wal_fsync_duration_seconds_bucket{le="0.002"} 20
etcd_disk_wal_fsync_duration_seconds_bucket{le="+Inf"} 20
etcd_debugging_mvcc_watcher_total 3
)";

TopFrame Frame() {
  TopReading before{.at = std::chrono::steady_clock::time_point(1s)};
  TopReading now{.list = {.cluster = 255}, .at = std::chrono::steady_clock::time_point(3s)};
  before.members = {Reading(1, 100, kPageBefore), Reading(2, 90, kPageBefore)};
  now.members = {Reading(1, 120, kPageNow),
                 Reading(2, 110, kPageNow),
                 {.member = {.id = 3, .name = "m3", .endpoint = "e:3"}, .unreachable = "refused"}};
  return MakeFrame(now, before);
}

TEST(TopFrameTest, RatesAreThoseOfTheInterval) {
  const TopFrame frame = Frame();
  EXPECT_EQ(frame.leader, "m1");
  EXPECT_EQ(frame.term, 4);
  EXPECT_EQ(frame.revision, 120);
  EXPECT_EQ(frame.revisions, 10);
  ASSERT_EQ(frame.members.size(), 3);
  const TopMember& first = frame.members[0];
  EXPECT_EQ(first.role, "leader");
  EXPECT_EQ(first.puts, 11) << "20 puts and 2 txns in 2 s";
  EXPECT_EQ(first.ranges, 0);
  ASSERT_TRUE(first.sync_p99_s);
  EXPECT_NEAR(*first.sync_p99_s, 0.00199, 1e-6);
  EXPECT_EQ(first.watchers, 3);
  EXPECT_EQ(first.request_p99_s, std::nullopt);
  EXPECT_EQ(frame.members[1].role, "follower");
  EXPECT_EQ(frame.members[1].behind, 10);
  EXPECT_EQ(frame.members[1].unapplied, 1);
  EXPECT_EQ(frame.members[2].role, "down");
}

TEST(TopFrameTest, TheFirstReadingHasNoRates) {
  TopReading now{.at = std::chrono::steady_clock::time_point(3s)};
  now.members = {Reading(1, 120, kPageNow)};
  const TopFrame frame = MakeFrame(now, {});
  EXPECT_EQ(frame.revisions, std::nullopt);
  EXPECT_EQ(frame.members[0].puts, std::nullopt);
  EXPECT_EQ(frame.members[0].role, "leader");
}

struct Screenless {
  explicit Screenless(std::vector<std::string> environment = {}, bool terminal = false)
      : world{.in = in,
              .out = out,
              .err = out,
              .environment = std::move(environment),
              .out_is_terminal = terminal} {
    for (const Flag& flag : root.inherited_flags) flags.Add(flag);
  }
  Colors colors() { return Colors(invocation); }

  std::istringstream in;
  std::ostringstream out;
  World world;
  Command root = KvorumctlCommand();
  FlagSet flags;
  Invocation invocation{root, {&root}, flags, {}, world};
};

TEST(TopFrameTest, IsDrawnInColumnsThatFit) {
  TopFrame frame = Frame();
  frame.hot = {{"/registry/pods/", 0.75}};
  Screenless screen;
  const std::string text = DrawFrame(frame, 0, screen.colors());
  EXPECT_THAT(text, HasSubstr("cluster ff  leader m1  term 4  revision 120 (+10/s)\n"));
  EXPECT_THAT(text, HasSubstr("m3: refused\n"));
  EXPECT_THAT(text, HasSubstr(" 75.0 %  /registry/pods/\n"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  std::istringstream narrow(DrawFrame(frame, 20, screen.colors()));
  for (std::string line; std::getline(narrow, line);) EXPECT_LE(line.size(), 20) << line;
}

TEST(TopFrameTest, LinesAndJsonSayTheSame) {
  TopFrame frame = Frame();
  frame.hot = {{"a\n", 1}};
  const std::string lines = FrameLines(frame, "T");
  EXPECT_THAT(lines, HasSubstr("T m2 role=follower term=4 revision=120 behind=10 unapplied=1 "
                               "writes/s=11 reads/s=0 p99_ms=- sync_ms=2.0 commit_ms=- watchers=3 "
                               "db=20480 memory=-\n"));
  EXPECT_THAT(lines, HasSubstr("T hot share=1.000 prefix=\"a\\n\"\n"));
  EXPECT_THAT(FrameJson(frame, 5),
              AllOf(HasSubstr(R"({"time_unix_ms":5,"cluster":"ff","leader":"m1","term":4,)"),
                    HasSubstr(R"("writes_per_s":11,"reads_per_s":0)"),
                    HasSubstr(R"("role":"down","error":"refused"})"),
                    HasSubstr(R"("hot":[{"prefix":"YQo=","share":1.0000}])")));
}

TEST(EventSampleTest, TheMostWrittenPrefixesComeFirst) {
  EventSample sample;
  for (const char* key : {"/a/b/1", "/a/b/2", "/a/b/c/3", "/a/x/1", "top"}) sample.Add(key, "/");
  const auto hot = sample.Hottest(2);
  ASSERT_EQ(hot.size(), 2);
  EXPECT_EQ(hot[0].prefix, "/a/b/");
  EXPECT_DOUBLE_EQ(hot[0].share, 0.6);
  EXPECT_EQ(sample.events(), 5);
}

TEST(ColorsTest, AreForTerminalsUnlessSomebodyObjects) {
  EXPECT_EQ(Screenless({}, true).colors().Red("x"), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(Screenless({}, false).colors().Red("x"), "x");
  EXPECT_EQ(Screenless({"NO_COLOR=1"}, true).colors().Red("x"), "x");
  EXPECT_EQ(Screenless({"NO_COLOR="}, true).colors().Red("x"), "\x1b[31mx\x1b[0m");
  EXPECT_EQ(Screenless({"TERM=dumb"}, true).colors().Red("x"), "x");
  Screenless objects({}, true);
  ASSERT_TRUE(objects.flags.Set("no-color", "true"));
  EXPECT_EQ(objects.colors().Red("x"), "x");
}

TEST(TopFrameTest, AMemberThatIsKeptFromServingIsNamed) {
  TopReading now{.list = {.cluster = 255}};
  now.members = {Reading(1, 120, "kvorum_quarantined 0\nkvorum_replica_hash_agreement 1\n"),
                 Reading(2, 110, "kvorum_quarantined 1\n"),
                 Reading(3, 110, "kvorum_replica_hash_agreement 0\n")};
  const TopFrame frame = MakeFrame(now, now);
  EXPECT_EQ(frame.members[0].replica, "");
  EXPECT_EQ(frame.members[1].replica, "quarantined");
  EXPECT_EQ(frame.members[2].replica, "differs");
  const std::string lines = FrameLines(frame, "T");
  EXPECT_THAT(lines, HasSubstr("T m2 replica=quarantined\n"));
  EXPECT_THAT(lines, Not(HasSubstr("T m1 replica")));
  EXPECT_THAT(FrameJson(frame, 1), HasSubstr(R"("replica":"quarantined")"));
}

}  // namespace
}  // namespace kvorum::ctl
