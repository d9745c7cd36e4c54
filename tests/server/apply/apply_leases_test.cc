// Leases, where entries are applied.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "server/apply/applier.h"
#include "tests/server/apply/applier_fixture.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::string LeasedPutBody(std::string_view key, std::int64_t lease) {
  std::string body = PutBody(key, "v");
  wire::AppendInt(body, 3, lease);
  return body;
}
std::string GrantBody(std::int64_t id, std::int64_t ttl_s) {
  return EncodeLeaseGrant({.ttl_s = ttl_s, .id = id});
}
std::string CheckpointBody(std::int64_t id, std::int64_t remaining_s) {
  const LeaseCheckpoint checkpoint{.id = id, .remaining_s = remaining_s};
  return EncodeLeaseCheckpoints({&checkpoint, 1});
}
std::string LeaseKey(std::int64_t id) {
  return std::string(lease::View(lease::EncodeLeaseKey(id)));
}

TEST_F(ApplierTest, AGrantIsStoredAndTakesNoRevision) {
  const auto value = Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  ASSERT_TRUE(value.has_value());
  const auto& granted = std::get<LeaseGrantResult>(*value);
  EXPECT_EQ(granted.id, 7);
  EXPECT_EQ(granted.ttl_s, 60);
  EXPECT_EQ(granted.revision, 1);
  EXPECT_EQ(revision(), 1);
  EXPECT_THAT(Bucket(mvcc::Bucket::kLease),
              ElementsAre(std::pair(LeaseKey(7), lease::EncodeLease({.id = 7, .ttl_s = 60}))));
}

TEST_F(ApplierTest, AGrantThatCannotBeChangesNothing) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  EXPECT_EQ(Outcome(RequestKind::kLeaseGrant, GrantBody(7, 90)), kErrLeaseExist.message);
  EXPECT_EQ(Outcome(RequestKind::kLeaseGrant, GrantBody(8, lease::kMaxTtlSeconds + 1)),
            kErrLeaseTtlTooLarge.message);
  EXPECT_TRUE(FailsWith(Apply(RequestKind::kLeaseGrant, GrantBody(0, 60)), kErrLeaseNotFound));
  EXPECT_EQ(Bucket(mvcc::Bucket::kLease).size(), 1U);
  EXPECT_EQ(FatalText(), "none");
}

TEST_F(ApplierTest, ARevocationDeletesAllKeysAtOneRevisionInTheirOrder) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  Apply(RequestKind::kLeaseGrant, GrantBody(8, 60));
  for (const char* key : {"c", "a", "b"}) Apply(RequestKind::kPut, LeasedPutBody(key, 7));
  Apply(RequestKind::kPut, LeasedPutBody("d", 8));
  Apply(RequestKind::kPut, PutBody("e", "v"));
  ASSERT_EQ(revision(), 6);
  const auto value = Apply(RequestKind::kLeaseRevoke, EncodeLeaseId(7));
  ASSERT_TRUE(value.has_value());
  EXPECT_EQ(std::get<LeaseRevokeResult>(*value).revision, 7);
  EXPECT_EQ(revision(), 7);
  EXPECT_THAT(Keys({.key = std::string_view("\0", 1), .range_end = std::string_view("\0", 1)}),
              ElementsAre("d", "e"));
  Settle();
  const mvcc::Reader reader = mvcc::Ok(backend->NewReader());
  std::vector<std::string> tombstones;
  mvcc::Ok(reader->ScanRevisions(
      {.main = 7, .sub = 0}, {.main = 8, .sub = 0}, [&](const mvcc::RevisionRecord& record) {
        EXPECT_TRUE(record.tombstone);
        tombstones.emplace_back(mvcc::Ok(mvcc::DecodeKeyValue(record.value)).key);
        return true;
      }));
  EXPECT_THAT(tombstones, ElementsAre("a", "b", "c"));
  EXPECT_THAT(Bucket(mvcc::Bucket::kLease), SizeIs(1));
}

TEST_F(ApplierTest, ARevocationOfALeaseWithoutKeysTakesNoRevision) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  EXPECT_EQ(Outcome(RequestKind::kLeaseRevoke, EncodeLeaseId(7)), "ok");
  EXPECT_EQ(revision(), 1);
  EXPECT_TRUE(FailsWith(Apply(RequestKind::kLeaseRevoke, EncodeLeaseId(7)), kErrLeaseNotFound));
  EXPECT_THAT(Bucket(mvcc::Bucket::kLease), IsEmpty());
}

TEST_F(ApplierTest, AKeyGoesWithTheLeaseOfItsLastPut) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  Apply(RequestKind::kLeaseGrant, GrantBody(8, 60));
  for (const char* key : {"moved", "freed", "deleted", "stays", "kept"})
    Apply(RequestKind::kPut, LeasedPutBody(key, 7));
  Apply(RequestKind::kPut, LeasedPutBody("moved", 8));
  Apply(RequestKind::kPut, PutBody("freed", "v"));
  Apply(RequestKind::kDeleteRange, DeleteBody("deleted"));
  Apply(RequestKind::kPut, PutBody("deleted", "again"));
  std::string keeping = PutBody("kept", "w");
  wire::AppendBool(keeping, 6, true);  // ignore_lease
  Apply(RequestKind::kPut, keeping);
  Apply(RequestKind::kLeaseRevoke, EncodeLeaseId(7));
  EXPECT_THAT(Keys({.key = std::string_view("\0", 1), .range_end = std::string_view("\0", 1)}),
              ElementsAre("deleted", "freed", "moved"));
}

TEST_F(ApplierTest, ATxnAttachesAndDetaches) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  Apply(RequestKind::kPut, LeasedPutBody("old", 7));
  ASSERT_EQ(Outcome(RequestKind::kTxn,
                    TxnBody({OpBody(2, LeasedPutBody("new", 7)), OpBody(3, DeleteBody("old"))})),
            "ok");
  EXPECT_THAT(leases_.leases->KeysOf(7), ElementsAre("new"));
}

TEST_F(ApplierTest, LeasesAndTheirKeysOutliveARestart) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  Apply(RequestKind::kPut, LeasedPutBody("a", 7));
  Apply(RequestKind::kPut, LeasedPutBody("b", 7));
  Apply(RequestKind::kPut, PutBody("b", "free"));
  Apply(RequestKind::kLeaseCheckpoint, CheckpointBody(7, 40));
  Settle();
  Restart();
  EXPECT_THAT(leases_.leases->KeysOf(7), ElementsAre("a"));
  leases_.leases->Promote(1, Duration::zero());
  const auto times = mvcc::Ok(leases_.leases->TimeToLive(7, false));
  ASSERT_TRUE(times.has_value());
  EXPECT_EQ(times->ttl_s, 40);
  EXPECT_EQ(times->granted_s, 60);
  EXPECT_EQ(Outcome(RequestKind::kLeaseRevoke, EncodeLeaseId(7)), "ok");
  EXPECT_THAT(Keys({.key = std::string_view("\0", 1), .range_end = std::string_view("\0", 1)}),
              ElementsAre("b"));
}

TEST_F(ApplierTest, ACheckpointIsStored) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  EXPECT_EQ(Outcome(RequestKind::kLeaseCheckpoint, CheckpointBody(7, 40)), "ok");
  EXPECT_EQ(Bucket(mvcc::Bucket::kLease)[LeaseKey(7)],
            lease::EncodeLease({.id = 7, .ttl_s = 60, .remaining_s = 40}));
  EXPECT_EQ(Outcome(RequestKind::kLeaseCheckpoint, CheckpointBody(9, 40)), "ok");  // it is gone
  EXPECT_THAT(Bucket(mvcc::Bucket::kLease), SizeIs(1));
}

TEST_F(ApplierTest, AlarmsRefuseLeases) {
  Apply(RequestKind::kLeaseGrant, GrantBody(7, 60));
  Apply(RequestKind::kAlarm, RaiseBody(AlarmType::kNoSpace));
  EXPECT_EQ(Outcome(RequestKind::kLeaseGrant, GrantBody(8, 60)), kNoSpaceText);
  EXPECT_EQ(Outcome(RequestKind::kLeaseCheckpoint, CheckpointBody(7, 40)), "ok");
  EXPECT_EQ(Outcome(RequestKind::kLeaseRevoke, EncodeLeaseId(7)), "ok");
  Apply(RequestKind::kAlarm, RaiseBody(AlarmType::kCorrupt));
  EXPECT_EQ(Outcome(RequestKind::kLeaseGrant, GrantBody(8, 60)), kCorruptText);
  EXPECT_EQ(Outcome(RequestKind::kLeaseRevoke, EncodeLeaseId(8)), kCorruptText);
}

TEST_F(ApplierTest, AGrantPastTheQuotaIsGrantedAndRefused) {
  SetQuota(1);
  EXPECT_EQ(Outcome(RequestKind::kLeaseGrant, GrantBody(7, 60)), kNoSpaceText);
  EXPECT_TRUE(leases_.leases->LeaseExists(7));
}

}  // namespace
}  // namespace kvorum::server
