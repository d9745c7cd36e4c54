// Maintenance and Cluster.MemberList over a whole member.
#include "server/services/maintenance/maintenance_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "api/kv_decode.h"
#include "api/maintenance_encode.h"
#include "base/api_errors.h"
#include "proto/rpc.pb.h"
#include "server/state/alarms.h"
#include "tests/server/auth/method_paths.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kHash = "/etcdserverpb.Maintenance/Hash";
constexpr std::string_view kHashKv = "/etcdserverpb.Maintenance/HashKV";
constexpr std::string_view kDefragment = "/etcdserverpb.Maintenance/Defragment";
constexpr std::string_view kMemberList = "/etcdserverpb.Cluster/MemberList";
constexpr raft::MemberId kServedMember{0x8e9e05c52164694d};

class MaintenanceTest : public testing::Test {
 protected:
  void Start() { ASSERT_TRUE(served_.Start().has_value()); }
  ~MaintenanceTest() override {
    EXPECT_FALSE(served_.member().fatal().has_value()) << served_.member().fatal()->message;
  }
  template <class Response>
  Response Ok(std::string_view path, std::string_view request = {}) {
    const auto answer = served_.Call(path, request);
    Response response;
    if (!answer.has_value()) {
      ADD_FAILURE() << path << ": " << answer.error().message;
      return response;
    }
    EXPECT_TRUE(response.ParseFromString(*answer));
    return response;
  }
  Error ErrorOf(std::string_view path, std::string_view request) {
    return server::ErrorOf(served_.Call(path, request));
  }
  void Put(int times, std::size_t value_bytes = 10) {
    for (int i = 0; i < times; ++i) {
      ASSERT_TRUE(served_.Call(kPutPath, PutBody("k", std::string(value_bytes, 'v'))).has_value());
    }
  }
  etcdserverpb::AlarmResponse Alarm(AlarmAction action, AlarmType type, raft::MemberId member) {
    return Ok<etcdserverpb::AlarmResponse>(
        kAlarmPath,
        EncodeAlarmRequest({.action = action, .alarm = {.member = member, .type = type}}));
  }

  ServedMember served_;
};

template <class Response>
void ExpectFullHeader(const Response& response, std::int64_t revision) {
  EXPECT_EQ(response.header().cluster_id(), 0xcdf818194e3a8c32);
  EXPECT_EQ(response.header().member_id(), kServedMember);
  EXPECT_EQ(response.header().revision(), revision);
  EXPECT_GT(response.header().raft_term(), 0);
}

// --- Status ------------------------------------------------------------------------------------

TEST_F(MaintenanceTest, StatusTellsWhatScriptsRead) {
  served_.options().quota_bytes = 100'000;
  Start();
  Put(3);
  served_.lanes().RunFor(std::chrono::seconds(1));
  const auto status = Ok<etcdserverpb::StatusResponse>(kStatusPath);
  ExpectFullHeader(status, 4);
  EXPECT_EQ(status.version(), "3.7.3");
  EXPECT_EQ(status.storageversion(), "3.7.0");
  EXPECT_EQ(status.leader(), kServedMember);
  EXPECT_EQ(status.raftterm(), status.header().raft_term());
  EXPECT_GE(status.raftindex(), 5) << "the member, the leader's first entry, three puts";
  EXPECT_EQ(status.raftappliedindex(), status.raftindex());
  EXPECT_EQ(status.dbsizequota(), 100'000);
  EXPECT_EQ(status.dbsize(), served_.store().SizeBytes());
  EXPECT_EQ(status.dbsizeinuse(), served_.store().SizeInUseBytes());
  EXPECT_GT(status.dbsize(), 0);
  EXPECT_FALSE(status.islearner());
  EXPECT_EQ(status.errors_size(), 0);
  EXPECT_TRUE(status.has_downgradeinfo());
  EXPECT_FALSE(status.downgradeinfo().enabled());
}

TEST_F(MaintenanceTest, StatusIsAnsweredWithoutALeaderAndSaysSo) {
  ASSERT_TRUE(served_.Open().has_value());
  const auto status = Ok<etcdserverpb::StatusResponse>(kStatusPath);
  EXPECT_EQ(status.leader(), 0);
  ASSERT_EQ(status.errors_size(), 1);
  EXPECT_EQ(status.errors(0), "etcdserver: no leader");
}

TEST_F(MaintenanceTest, StatusNamesTheAlarmsThatStand) {
  Start();
  Alarm(AlarmAction::kActivate, AlarmType::kCorrupt, 7);
  Alarm(AlarmAction::kActivate, AlarmType::kNoSpace, 7);
  const auto status = Ok<etcdserverpb::StatusResponse>(kStatusPath);
  EXPECT_THAT(status.errors(),
              testing::ElementsAre("memberID:7 alarm:NOSPACE", "memberID:7 alarm:CORRUPT"));
}

// --- Alarm -------------------------------------------------------------------------------------

TEST_F(MaintenanceTest, AnAlarmIsRaisedListedAndDisarmed) {
  Start();
  Put(1);
  auto response = Alarm(AlarmAction::kActivate, AlarmType::kNoSpace, 7);
  ExpectFullHeader(response, 2);
  ASSERT_EQ(response.alarms_size(), 1);
  EXPECT_EQ(response.alarms(0).memberid(), 7);
  EXPECT_EQ(response.alarms(0).alarm(), etcdserverpb::NOSPACE);
  Alarm(AlarmAction::kActivate, AlarmType::kCorrupt, 8);
  EXPECT_EQ(Alarm(AlarmAction::kGet, AlarmType::kNone, 0).alarms_size(), 2);
  EXPECT_EQ(Alarm(AlarmAction::kGet, AlarmType::kNoSpace, 99).alarms_size(), 1)
      << "the member is no matter when asking";
  EXPECT_EQ(Alarm(AlarmAction::kDeactivate, AlarmType::kNoSpace, 8).alarms_size(), 0);
  EXPECT_EQ(Alarm(AlarmAction::kDeactivate, AlarmType::kNoSpace, 7).alarms_size(), 1);
  EXPECT_EQ(Alarm(AlarmAction::kGet, AlarmType::kNone, 0).alarms_size(), 1);
  EXPECT_EQ(Alarm(AlarmAction::kActivate, AlarmType::kNone, 7).alarms_size(), 0);
  EXPECT_EQ(ErrorOf(kAlarmPath, "\x08"), MalformedRequest().error());
}

TEST_F(MaintenanceTest, AlarmsStandAfterARestart) {
  Start();
  Alarm(AlarmAction::kActivate, AlarmType::kCorrupt, 7);
  Alarm(AlarmAction::kActivate, AlarmType::kNoSpace, 8);
  Alarm(AlarmAction::kDeactivate, AlarmType::kNoSpace, 8);
  ServedMember again(served_.Stop());
  ASSERT_TRUE(again.Start().has_value());
  EXPECT_THAT(again.parts().cluster.alarms.List(),
              testing::ElementsAre(server::Alarm{.member = 7, .type = AlarmType::kCorrupt}));
}

// --- hashes ------------------------------------------------------------------------------------

TEST_F(MaintenanceTest, TheHashIsOfEverythingThatIsDurable) {
  Start();
  Put(1);
  const auto first = Ok<etcdserverpb::HashResponse>(kHash);
  ExpectFullHeader(first, 2);
  EXPECT_EQ(Ok<etcdserverpb::HashResponse>(kHash).hash(), first.hash());
  Put(1);
  EXPECT_NE(Ok<etcdserverpb::HashResponse>(kHash).hash(), first.hash());
}

TEST_F(MaintenanceTest, HashKvIsOfTheHistoryUpToARevision) {
  Start();
  Put(5);
  const auto at_four = Ok<etcdserverpb::HashKVResponse>(kHashKv, NumberBody(4));
  ExpectFullHeader(at_four, 6);
  EXPECT_EQ(at_four.hash_revision(), 4);
  EXPECT_EQ(at_four.compact_revision(), -1);
  const auto newest = Ok<etcdserverpb::HashKVResponse>(kHashKv);
  EXPECT_EQ(newest.hash_revision(), 6);
  EXPECT_NE(newest.hash(), at_four.hash());
  Put(1);
  EXPECT_EQ(Ok<etcdserverpb::HashKVResponse>(kHashKv, NumberBody(4)).hash(), at_four.hash());
  EXPECT_EQ(ErrorOf(kHashKv, NumberBody(99)), kErrFutureRev);
  ASSERT_TRUE(served_.Call(kCompactPath, CompactBody(5, /*physical=*/true)).has_value());
  EXPECT_EQ(ErrorOf(kHashKv, NumberBody(3)), kErrCompacted);
  EXPECT_EQ(Ok<etcdserverpb::HashKVResponse>(kHashKv).compact_revision(), 5);
  EXPECT_EQ(ErrorOf(kHashKv, "\x08"), MalformedRequest().error());
}

// --- Defragment --------------------------------------------------------------------------------

TEST_F(MaintenanceTest, DefragmentGivesSpaceBackAndAnswersWithoutAHeader) {
  Start();
  Put(60, 4'000);
  ASSERT_TRUE(served_.Call(kCompactPath, CompactBody(61, /*physical=*/true)).has_value());
  const std::uint64_t before = served_.store().SizeBytes();
  EXPECT_EQ(served_.Call(kDefragment, ""), "");
  EXPECT_LT(served_.store().SizeBytes(), before);
  EXPECT_EQ(Ok<etcdserverpb::HashKVResponse>(kHashKv).hash_revision(), 61);
}

TEST_F(MaintenanceTest, WritesGoOnDuringADefragmentation) {
  Start();
  Put(20, 1'000);
  std::vector<std::shared_ptr<const Answer>> puts;
  const auto defragment = served_.Send(kDefragment, "");
  for (int i = 0; i < 200; ++i) {
    puts.push_back(served_.Send(kPutPath, PutBody("k" + std::to_string(i), "v")));
    served_.lanes().Step();
  }
  EXPECT_EQ(served_.Await(*defragment), "");
  for (const auto& put : puts) ASSERT_TRUE(served_.Await(*put).has_value());
  EXPECT_EQ(served_.store().revision(), 221);
  const auto hash = Ok<etcdserverpb::HashKVResponse>(kHashKv).hash();
  ServedMember again(served_.Stop());
  ASSERT_TRUE(again.Start().has_value());
  EXPECT_EQ(again.store().revision(), 221);
  etcdserverpb::HashKVResponse after;
  ASSERT_TRUE(after.ParseFromString(*again.Call(kHashKv, "")));
  EXPECT_EQ(after.hash(), hash);
}

// --- members -----------------------------------------------------------------------------------

TEST_F(MaintenanceTest, TheMemberListHasNoRevision) {
  Start();
  Put(1);
  auto list = Ok<etcdserverpb::MemberListResponse>(kMemberList);
  ExpectFullHeader(list, 0);
  ASSERT_EQ(list.members_size(), 1);
  EXPECT_EQ(list.members(0).id(), kServedMember);
  EXPECT_EQ(list.members(0).name(), "default") << "by the cluster's first entry";
  EXPECT_THAT(list.members(0).clienturls(), testing::IsEmpty()) << "not published yet";
  EXPECT_THAT(list.members(0).peerurls(), testing::ElementsAre("http://localhost:2380"));

  served_.member().Propose(
      RequestKind::kMemberAttributesSet,
      EncodeMemberAttributes({.member = kServedMember, .name = "n", .client_urls = {"http://c:3"}}),
      [](const Result<ApplyResult::Value>&) {});
  served_.lanes().RunFor(std::chrono::seconds(1));
  list = Ok<etcdserverpb::MemberListResponse>(kMemberList, NumberBody(1));
  EXPECT_EQ(list.members(0).name(), "n");
  EXPECT_THAT(list.members(0).clienturls(), testing::ElementsAre("http://c:3"));
}

TEST_F(MaintenanceTest, OnlyALinearizableMemberListNeedsTheQuorum) {
  Start();
  served_.member().local_member().Stop([] {});
  served_.lanes().RunFor(std::chrono::seconds(1));
  EXPECT_EQ(Ok<etcdserverpb::MemberListResponse>(kMemberList).members_size(), 1);
  EXPECT_EQ(ErrorOf(kMemberList, NumberBody(1)), kErrStopped.ToError());
  EXPECT_EQ(ErrorOf(kMemberList, "\x08"), MalformedRequest().error());
}

}  // namespace
}  // namespace kvorum::server
