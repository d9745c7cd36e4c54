// A member whose disk fills up: it raises the alarm by itself, so that the whole cluster refuses
// writes in time. If its disk is full all the same it stays up, serves its applied state,
// acknowledges nothing that it cannot make durable, and catches up when there is space.
//
// Fault model: tests/disk/sim_file_system.h. A disk without room for the database alone is one on
// which writes to that file fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/api_errors.h"
#include "tests/server/replica/mebibyte.h"
#include "tests/server/replica/small_cluster.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

constexpr const char* kDatabaseFile = "/snap/db";

class FullDiskCluster : public ::testing::Test {
 protected:
  void Begin(std::function<void(LocalMemberOptions&)> options = {}) {
    cluster_.emplace(3, 7, std::move(options));
    const auto started = cluster_->StartAll();
    ASSERT_TRUE(started.has_value()) << started.error().message;
    ASSERT_TRUE(cluster_->WaitForLeader().has_value());
    leader_ = *cluster_->Leader();
    victim_ = (leader_ + 1) % 3;
    ASSERT_TRUE(Put("a", "1").has_value());
    ASSERT_TRUE(cluster_->CatchUp());
  }
  Result<ApplyResult::Value> Put(const std::string& key, const std::string& value) {
    return cluster_->Propose(leader_, RequestKind::kPut, PutBody(key, value));
  }
  // Accepted whether or not the alarm is raised.
  Result<ApplyResult::Value> Delete(const std::string& key) {
    return cluster_->Propose(leader_, RequestKind::kDeleteRange, DeleteBody(key));
  }
  SmallMember& victim() { return cluster_->member(victim_); }
  SimFileSystem& disk() { return cluster_->disk(victim_); }
  Alarm VictimsAlarm() { return {.member = cluster_->id(victim_), .type = AlarmType::kNoSpace}; }
  bool WaitForAlarm() {
    return cluster_->RunUntil(
        [&] { return cluster_->member(leader_).local_member().alarms().Stands(VictimsAlarm()); });
  }
  void Disarm() {
    const AlarmRequest disarm{.action = AlarmAction::kDeactivate, .alarm = VictimsAlarm()};
    ASSERT_TRUE(
        cluster_->Propose(leader_, RequestKind::kAlarm, EncodeAlarmRequest(disarm)).has_value());
  }
  void ExpectUp() { ASSERT_FALSE(victim().fatal().has_value()) << victim().fatal()->message; }
  // The cluster takes writes again, and the victim has all of them, durably.
  void ExpectRecovered() {
    Disarm();
    ASSERT_TRUE(Put("again", "yes").has_value());
    ASSERT_TRUE(cluster_->CatchUp());
    cluster_->RunFor(std::chrono::seconds(5));
    ASSERT_NO_FATAL_FAILURE(ExpectUp());
    EXPECT_FALSE(victim().local_member().alarms().Stands(AlarmType::kNoSpace)) << "raised again";
    ExpectSame();
    ASSERT_TRUE(cluster_->Stop(victim_));
    ASSERT_TRUE(cluster_->Start(victim_).has_value());
    ASSERT_TRUE(cluster_->CatchUp());
    ExpectSame();
  }
  void ExpectSame() {
    mvcc::Store& leader = cluster_->member(leader_).store();
    EXPECT_EQ(victim().store().revision(), leader.revision());
    EXPECT_EQ(victim().store().HashKv(0).value().hash, leader.HashKv(0).value().hash);
  }

  std::optional<SmallCluster> cluster_;
  std::size_t leader_ = 0;
  std::size_t victim_ = 0;
};

TEST_F(FullDiskCluster, AFollowerWhoseDiskIsNearlyFullHasTheClusterRefuseWrites) {
  Begin();
  disk().SetCapacity(10 * kMiB);
  ASSERT_TRUE(WaitForAlarm()) << "though no client has come to it";
  const auto refused = Put("b", "2");
  ASSERT_FALSE(refused.has_value());
  EXPECT_TRUE(refused.error() == kErrNoSpace.ToError()) << refused.error().message;
  EXPECT_FALSE(victim().store().CommitStalled()) << "in time";

  Disarm();
  ASSERT_TRUE(WaitForAlarm()) << "it is as full as before";
  disk().SetCapacity(std::nullopt);
  ExpectRecovered();
}

TEST_F(FullDiskCluster, TheAlarmOfAFullDiskEndsByItselfOnceTheDiskHasRoomToSpare) {
  Begin();
  disk().SetCapacity(10 * kMiB);
  ASSERT_TRUE(WaitForAlarm());
  disk().SetCapacity(40 * kMiB);
  cluster_->RunFor(std::chrono::seconds(30));
  EXPECT_TRUE(victim().local_member().alarms().Stands(VictimsAlarm()))
      << "the next writes would raise it again";
  disk().SetCapacity(60 * kMiB);
  ASSERT_TRUE(cluster_->RunUntil(
      [&] { return !victim().local_member().alarms().Stands(AlarmType::kNoSpace); }));
  EXPECT_TRUE(Put("b", "2").has_value());
}

TEST_F(FullDiskCluster, AFollowerWithoutRoomForItsDatabaseStaysUpAndShowsWhatItHasApplied) {
  Begin();
  disk().FailPath(SimFileSystem::Operation::kWrite, kDatabaseFile, SimFileSystem::Fault::kNoSpace);
  ASSERT_TRUE(Put("b", "2").has_value());
  ASSERT_TRUE(WaitForAlarm());
  ASSERT_NO_FATAL_FAILURE(ExpectUp());
  EXPECT_TRUE(victim().store().CommitStalled());
  EXPECT_EQ(victim().Get("b", 0).value().value_or(""), "2");
  ASSERT_TRUE(Delete("a").has_value()) << "deletes go on, at the victim too";
  ASSERT_TRUE(cluster_->CatchUp());
  EXPECT_FALSE(victim().Get("a", 0).value().has_value());
  ASSERT_TRUE(cluster_->ReadIndex(victim_).has_value());

  disk().ClearFaults();
  ASSERT_TRUE(cluster_->RunUntil([&] { return !victim().store().CommitStalled(); }));
  ExpectRecovered();
}

TEST_F(FullDiskCluster, ApplyWaitsAtTheWriteBuffersBoundAndGoesOnWhenThereIsSpace) {
  Begin([](LocalMemberOptions& options) { options.store.buffer.limit_bytes = 4096; });
  disk().FailPath(SimFileSystem::Operation::kWrite, kDatabaseFile, SimFileSystem::Fault::kNoSpace);
  ASSERT_TRUE(Put("b", "2").has_value());
  ASSERT_TRUE(WaitForAlarm());
  for (int i = 0; i < 200; ++i) ASSERT_TRUE(Delete("b").has_value()) << "the others are a majority";
  cluster_->RunFor(std::chrono::seconds(2));
  ASSERT_NO_FATAL_FAILURE(ExpectUp());
  EXPECT_LT(cluster_->replica(victim_).applied_index(), cluster_->replica(leader_).commit_index());
  EXPECT_LT(victim().store().PendingBytes(), 3 * 4096u);

  disk().ClearFaults();
  ASSERT_TRUE(cluster_->CatchUp());
  ExpectRecovered();
}

// Its log cannot grow either: it acknowledges nothing that is not in it.
TEST_F(FullDiskCluster, AFollowerWhoseDiskIsFullToTheLastByteComesBackWhenThereIsSpace) {
  Begin();
  disk().SetCapacity(0);
  for (int i = 0; i < 100; ++i) {
    ASSERT_TRUE(Delete("key" + std::to_string(i)).has_value()) << "the others are a majority";
  }
  ASSERT_TRUE(WaitForAlarm());
  cluster_->RunFor(std::chrono::seconds(5));
  ASSERT_NO_FATAL_FAILURE(ExpectUp());
  EXPECT_EQ(victim().Get("a", 0).value().value_or(""), "1");
  disk().SetCapacity(std::nullopt);
  ASSERT_TRUE(cluster_->CatchUp());
  ExpectRecovered();
}

TEST_F(FullDiskCluster, ALeaderWithoutRoomForItsDatabaseLeadsOn) {
  Begin();
  victim_ = leader_;
  disk().FailPath(SimFileSystem::Operation::kWrite, kDatabaseFile, SimFileSystem::Fault::kNoSpace);
  ASSERT_TRUE(Put("b", "2").has_value());
  ASSERT_TRUE(WaitForAlarm());
  ASSERT_TRUE(Delete("a").has_value());
  ASSERT_NO_FATAL_FAILURE(ExpectUp());
  EXPECT_EQ(cluster_->Leader(), leader_);
  disk().ClearFaults();
  ASSERT_TRUE(cluster_->RunUntil([&] { return !victim().store().CommitStalled(); }));
  Disarm();
  ASSERT_TRUE(Put("again", "yes").has_value());
  ASSERT_TRUE(cluster_->CatchUp());
}

TEST_F(FullDiskCluster, AMemberStartsOnAFullDiskAndCatchesUpWhenThereIsSpace) {
  Begin();
  cluster_->Kill(victim_);
  disk().SetCapacity(0);
  for (int i = 0; i < 3; ++i) {
    const auto started = cluster_->Start(victim_);
    ASSERT_TRUE(started.has_value()) << started.error().message;
    ASSERT_TRUE(WaitForAlarm());
    EXPECT_TRUE(
        cluster_->RunUntil([&] { return victim().Get("a", 0).value().value_or("") == "1"; }));
    ASSERT_NO_FATAL_FAILURE(ExpectUp());
    cluster_->Kill(victim_);
  }
  ASSERT_TRUE(cluster_->Start(victim_).has_value());
  cluster_->RunFor(std::chrono::seconds(3));
  ASSERT_NO_FATAL_FAILURE(ExpectUp());
  disk().SetCapacity(std::nullopt);
  ASSERT_TRUE(cluster_->CatchUp());
  ExpectRecovered();
}

TEST_F(FullDiskCluster, AMemberWithAFullDiskStopsInGoodOrder) {
  Begin();
  disk().FailPath(SimFileSystem::Operation::kWrite, kDatabaseFile, SimFileSystem::Fault::kNoSpace);
  ASSERT_TRUE(Put("b", "2").has_value());
  ASSERT_TRUE(WaitForAlarm());
  ASSERT_TRUE(cluster_->Stop(victim_)) << "it does not wait for space";
  disk().ClearFaults();
  ASSERT_TRUE(cluster_->Start(victim_).has_value());
  ASSERT_TRUE(cluster_->CatchUp());
  EXPECT_EQ(victim().Get("b", 0).value().value_or(""), "2");
}

}  // namespace
}  // namespace kvorum::server
