// Alarms and the quota, where entries are applied.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "server/apply/applier.h"
#include "tests/server/apply/applier_fixture.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(ApplierTest, AnAlarmStandsInTheBackendUntilItIsDisarmed) {
  const auto raised = Apply(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace));
  const Alarm alarm{.member = 5, .type = AlarmType::kNoSpace};
  ASSERT_TRUE(raised.has_value());
  EXPECT_THAT(std::get<AlarmResult>(*raised).alarms, ElementsAre(alarm));
  EXPECT_EQ(Bucket(mvcc::Bucket::kAlarm),
            (std::map<std::string, std::string>{{EncodeAlarm(alarm), ""}}));
  const auto listed = Apply(RequestKind::kAlarm, RaiseBody(AlarmType::kNone, AlarmAction::kGet));
  EXPECT_THAT(std::get<AlarmResult>(*listed).alarms, ElementsAre(alarm));
  const auto disarmed =
      Apply(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace, AlarmAction::kDeactivate));
  EXPECT_THAT(std::get<AlarmResult>(*disarmed).alarms, ElementsAre(alarm));
  EXPECT_THAT(Bucket(mvcc::Bucket::kAlarm), IsEmpty());
  const auto again =
      Apply(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace, AlarmAction::kDeactivate));
  EXPECT_THAT(std::get<AlarmResult>(*again).alarms, IsEmpty()) << "only what changed";
}

TEST_F(ApplierTest, NoAlarmAndAnUnknownActionChangeNothing) {
  for (const std::string& body :
       {RaiseBody(AlarmType::kNone), RaiseBody(AlarmType::kNoSpace, static_cast<AlarmAction>(9))}) {
    const auto result = Apply(RequestKind::kAlarm, body);
    ASSERT_TRUE(result.has_value());
    EXPECT_THAT(std::get<AlarmResult>(*result).alarms, IsEmpty());
    EXPECT_THAT(alarms_->List(), IsEmpty());
  }
}

TEST_F(ApplierTest, UnderNoSpaceOnlyPutsAreRefused) {
  ASSERT_EQ(Outcome(RequestKind::kPut, kPutBody), "ok");
  ASSERT_EQ(Outcome(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace)), "ok");
  const std::int64_t before = revision();
  EXPECT_EQ(Outcome(RequestKind::kPut, kPutBody), kNoSpaceText);
  EXPECT_EQ(Outcome(RequestKind::kTxn, kTxnWithPut), kNoSpaceText);
  EXPECT_EQ(revision(), before) << "and nothing is written";
  EXPECT_EQ(Outcome(RequestKind::kTxn, kTxnWithoutPut), "ok");
  EXPECT_EQ(Outcome(RequestKind::kDeleteRange, DeleteBody("k")), "ok");
  EXPECT_EQ(Outcome(RequestKind::kCompaction, CompactBody(before)), "ok");
}

TEST_F(ApplierTest, UnderCorruptEveryChangeIsRefused) {
  ASSERT_EQ(Outcome(RequestKind::kPut, kPutBody), "ok");
  ASSERT_EQ(Outcome(RequestKind::kAlarm, RaiseBody(AlarmType::kCorrupt)), "ok");
  const std::int64_t before = revision();
  EXPECT_EQ(Outcome(RequestKind::kPut, kPutBody), kCorruptText);
  EXPECT_EQ(Outcome(RequestKind::kDeleteRange, DeleteBody("k")), kCorruptText);
  EXPECT_EQ(Outcome(RequestKind::kTxn, kTxnWithoutPut), kCorruptText);
  EXPECT_EQ(Outcome(RequestKind::kCompaction, CompactBody(before)), kCorruptText);
  EXPECT_EQ(Outcome(RequestKind::kCompaction, CompactBody(before, /*physical=*/true)),
            kCorruptText);
  EXPECT_EQ(revision(), before);
  EXPECT_EQ(FatalText(), "none") << "an answer, no damage of the log";
  EXPECT_EQ(Outcome(RequestKind::kAlarm, RaiseBody(AlarmType::kCorrupt, AlarmAction::kDeactivate)),
            "ok");
  EXPECT_EQ(Outcome(RequestKind::kPut, kPutBody), "ok");
}

// Every replica has written it, at any size of its disk.
TEST_F(ApplierTest, APutPastTheQuotaIsWrittenAndAnsweredNoSpace) {
  SetQuota(1);
  EXPECT_EQ(Outcome(RequestKind::kPut, kPutBody), kNoSpaceText);
  EXPECT_EQ(Outcome(RequestKind::kTxn, PutTxnBody({"t"}, "v")), kNoSpaceText);
  EXPECT_THAT(Rows(mvcc::Get("k")), ElementsAre("k=v c2 m2 v1"));
  EXPECT_THAT(Rows(mvcc::Get("t")), ElementsAre("t=v c3 m3 v1"));
  EXPECT_EQ(Outcome(RequestKind::kDeleteRange, DeleteBody("k")), "ok");
}

// A member that catches up applies them at once.
TEST_F(ApplierTest, ARefusalByAnAlarmThatTheSameBatchEndsAsksForNone) {
  const raft::Entry raise = Entry(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace));
  const raft::Entry put = Entry(RequestKind::kPut, kPutBody);
  const auto refused = Wait(put.index);
  const raft::Entry disarm =
      Entry(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace, AlarmAction::kDeactivate));
  ApplyAll({raise, put, disarm});
  EXPECT_THAT(no_space_, IsEmpty());
  ASSERT_TRUE(refused->has_value());
  EXPECT_EQ((*refused)->value.error(), kErrNoSpace.ToError());
}

TEST_F(ApplierTest, WhoIsRefusedForSpaceIsAnsweredWhenTheAlarmStands) {
  SetQuota(1);
  const raft::Entry put = Entry(RequestKind::kPut, kPutBody);
  const raft::Entry del = Entry(RequestKind::kDeleteRange, DeleteBody("k"));
  const auto refused = Wait(put.index);
  const auto deleted = Wait(del.index);
  ApplyAll({put, del});
  EXPECT_TRUE(deleted->has_value());
  EXPECT_FALSE(refused->has_value());
  ASSERT_EQ(no_space_.size(), 1);
  RunNoSpace();
  ASSERT_TRUE(refused->has_value());
  EXPECT_EQ((*refused)->value.error(), kErrNoSpace.ToError());

  ASSERT_EQ(Outcome(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace)), "ok");
  const raft::Entry another = Entry(RequestKind::kPut, kPutBody);
  const auto at_once = Wait(another.index);
  ApplyAll({another});
  EXPECT_TRUE(at_once->has_value()) << "the alarm stands already";
  EXPECT_THAT(no_space_, IsEmpty());
}

}  // namespace
}  // namespace kvorum::server
