// The judge of locks and elections: correct answers pass, and each kind of error is detected.
#include "tests/sim/judges/lock_judge.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/api_errors.h"
#include "mvcc/records/key_value.h"
#include "proto/election.pb.h"
#include "proto/lock.pb.h"

namespace kvorum::sim {
namespace {

constexpr const char* kQueue = "k!q";
constexpr lease::LeaseId kFirst = 0xa;
constexpr lease::LeaseId kSecond = 0xb;

// The first enters at 2, the second at 3; the first proclaims at 4 and 5, and is gone at 6.
class LockJudgeTest : public testing::Test {
 protected:
  LockJudgeTest() {
    Put(2, kFirst, 2, "one");
    Put(3, kSecond, 3, "two");
    Put(4, kFirst, 2, "three");
    Put(5, kFirst, 2, "four");
    Publish(6, mvcc::Encode({.key = QueueHistory::KeyOf(kQueue, kFirst), .value = {}}), true);
  }

  void Put(std::int64_t revision, lease::LeaseId lease, std::int64_t created,
           std::string_view value) {
    Publish(revision, Record(revision, lease, created, value), false);
  }
  static std::string Record(std::int64_t revision, lease::LeaseId lease, std::int64_t created,
                            std::string_view value) {
    const std::string key = QueueHistory::KeyOf(kQueue, lease);
    return mvcc::Encode({.key = key,
                         .create_revision = created,
                         .mod_revision = revision,
                         .version = 1,
                         .value = value,
                         .lease = lease});
  }
  void Publish(std::int64_t revision, const std::string& record, bool is_delete) {
    char* room = buffer_.Append({.main = revision, .sub = 0}, is_delete, record.size());
    std::ranges::copy(record, room);
    events_.Take("m1", revision, revision, buffer_.StagedView());
  }

  static LockJudge::Asked AskedAt(std::int64_t revision, lease::LeaseId lease = kFirst,
                                  std::string value = {}, std::int64_t created = 0) {
    return {.name = kQueue,
            .lease = lease,
            .value = std::move(value),
            .created = created,
            .revision = revision};
  }
  template <class Response>
  static std::string HeaderAt(std::int64_t revision) {
    Response response;
    response.mutable_header()->set_revision(revision);
    return response.SerializeAsString();
  }
  static std::string Locked(std::int64_t revision, lease::LeaseId lease) {
    v3lockpb::LockResponse response;
    response.mutable_header()->set_revision(revision);
    response.set_key(QueueHistory::KeyOf(kQueue, lease));
    return response.SerializeAsString();
  }
  static std::string Elected(std::int64_t entered, lease::LeaseId lease, std::int64_t created) {
    v3electionpb::CampaignResponse response;
    response.mutable_header()->set_revision(entered);
    response.mutable_leader()->set_name(kQueue);
    response.mutable_leader()->set_key(QueueHistory::KeyOf(kQueue, lease));
    response.mutable_leader()->set_rev(created);
    response.mutable_leader()->set_lease(lease);
    return response.SerializeAsString();
  }
  static std::string Leader(std::int64_t revision, std::int64_t mod, lease::LeaseId lease,
                            std::int64_t created, std::string_view value) {
    v3electionpb::LeaderResponse response;
    response.mutable_header()->set_revision(revision);
    EXPECT_TRUE(response.mutable_kv()->ParseFromString(Record(mod, lease, created, value)));
    return response.SerializeAsString();
  }
  // The failures since the last call.
  std::string Wrong() { return std::exchange(world_.failure, std::nullopt).value_or(""); }
  void ObserveAll(const std::vector<std::string>& messages) {
    LockJudge::Observed last;
    for (const std::string& message : messages) judge_.LeaderSeen(kQueue, last, message);
  }

  World world_{Options{}};
  EventHistory events_{world_};
  mvcc::WriteBuffer buffer_{mvcc::WriteBuffer::Options{}};
  std::vector<std::unique_ptr<Machine>> machines_;
  LeaseLedger ledger_{world_, machines_, events_};
  LockJudge judge_{world_, events_, ledger_};
};

TEST_F(LockJudgeTest, ALockIsGrantedToTheFrontOnly) {
  judge_.Locked(AskedAt(1), Locked(2, kFirst));
  judge_.Locked(AskedAt(1), Locked(5, kFirst));
  judge_.Locked(AskedAt(2, kSecond), Locked(6, kSecond));
  EXPECT_EQ(Wrong(), "");
  EXPECT_EQ(world_.faults[Fault::kLockGranted], 3U);
  EXPECT_EQ(world_.faults[Fault::kLockWaited], 1U);
  judge_.Locked(AskedAt(2, kSecond), Locked(5, kSecond));
  EXPECT_EQ(Wrong(), "k!q/b is granted at revision 5, and k!q/a is at the front");
  judge_.Locked(AskedAt(1), Locked(6, kFirst));
  EXPECT_EQ(Wrong(), "k!q/a is granted at revision 6, and k!q/b is at the front");
  judge_.Locked(AskedAt(1), Locked(5, kSecond));
  EXPECT_EQ(Wrong(), "k!q/a: granted the key k!q/b");
}

TEST_F(LockJudgeTest, AnAnswerIsOfATimeBetweenRequestAndNow) {
  judge_.Locked(AskedAt(4), Locked(3, kFirst));
  EXPECT_NE(Wrong(), "");
  judge_.Locked(AskedAt(4, kSecond), Locked(7, kSecond));
  EXPECT_NE(Wrong(), "");
}

TEST_F(LockJudgeTest, APlaceIsLostOnlyIfItWasDeleted) {
  const auto lost = std::unexpected(kErrSessionExpired.ToError());
  judge_.Locked(AskedAt(5), lost);
  EXPECT_EQ(Wrong(), "");
  judge_.Locked(AskedAt(5, kSecond), lost);
  EXPECT_NE(Wrong(), "");
  judge_.Locked(AskedAt(5, kSecond), std::unexpected(kErrLeaseNotFound.ToError()));
  EXPECT_NE(Wrong(), "");
}

TEST_F(LockJudgeTest, WhatIsUnlockedOrResignedIsGone) {
  judge_.Unlocked(AskedAt(5), HeaderAt<v3lockpb::UnlockResponse>(6));
  judge_.Resigned(AskedAt(5, kFirst, {}, 2), HeaderAt<v3electionpb::ResignResponse>(6));
  EXPECT_EQ(Wrong(), "");
  judge_.Unlocked(AskedAt(4), HeaderAt<v3lockpb::UnlockResponse>(5));
  EXPECT_NE(Wrong(), "");
  judge_.Resigned(AskedAt(4, kFirst, {}, 2), HeaderAt<v3electionpb::ResignResponse>(5));
  EXPECT_NE(Wrong(), "");
}

TEST_F(LockJudgeTest, AnElectedLeaderWasAtTheFrontWithItsValue) {
  EXPECT_EQ(judge_.Elected(AskedAt(1, kFirst, "one"), Elected(2, kFirst, 2)), 2);
  EXPECT_EQ(judge_.Elected(AskedAt(2, kSecond, "two"), Elected(3, kSecond, 3)), 3);
  EXPECT_EQ(Wrong(), "");
  judge_.Elected(AskedAt(5), Elected(6, kFirst, 2));
  EXPECT_NE(Wrong(), "");
  judge_.Elected(AskedAt(1, kFirst, "one"), Elected(2, kFirst, 1));
  EXPECT_NE(Wrong(), "");
  judge_.Elected(AskedAt(1, kFirst, "another"), Elected(2, kFirst, 2));
  EXPECT_EQ(Wrong(), "k!q/a is elected without its value");
}

TEST_F(LockJudgeTest, AProclaimedValueIsThatOfItsRevision) {
  judge_.Proclaimed(AskedAt(3, kFirst, "three", 2), HeaderAt<v3electionpb::ProclaimResponse>(4));
  judge_.Proclaimed(AskedAt(5, kFirst, "five", 2),
                    std::unexpected(kErrElectionNotLeader.ToError()));
  EXPECT_EQ(Wrong(), "");
  judge_.Proclaimed(AskedAt(3, kFirst, "three", 2), HeaderAt<v3electionpb::ProclaimResponse>(5));
  EXPECT_NE(Wrong(), "");
  judge_.Proclaimed(AskedAt(5, kSecond, "five", 3),
                    std::unexpected(kErrElectionNotLeader.ToError()));
  EXPECT_NE(Wrong(), "");
}

TEST_F(LockJudgeTest, TheLeaderIsTheOneAtTheFront) {
  judge_.LeaderTold(AskedAt(2), Leader(3, 2, kFirst, 2, "one"));
  judge_.LeaderTold(AskedAt(1), std::unexpected(kErrElectionNoLeader.ToError()));
  EXPECT_EQ(Wrong(), "");
  judge_.LeaderTold(AskedAt(2), Leader(3, 3, kSecond, 3, "two"));
  EXPECT_NE(Wrong(), "");
  judge_.LeaderTold(AskedAt(2), Leader(4, 2, kFirst, 2, "one"));
  EXPECT_NE(Wrong(), "");
  judge_.LeaderTold(AskedAt(2), std::unexpected(kErrElectionNoLeader.ToError()));
  EXPECT_NE(Wrong(), "");
}

TEST_F(LockJudgeTest, AnObserverIsToldOfLeadersInTheirOrderAndOfAllTheirValues) {
  const std::string one = Leader(2, 2, kFirst, 2, "one");
  const std::string three = Leader(4, 4, kFirst, 2, "three");
  const std::string four = Leader(5, 5, kFirst, 2, "four");
  const std::string two = Leader(6, 3, kSecond, 3, "two");
  ObserveAll({one, three, four, two});
  ObserveAll({three, two});
  ObserveAll({one, one, two});
  EXPECT_EQ(Wrong(), "");
  ObserveAll({one, four});
  EXPECT_EQ(Wrong(), "k!q: not told of what k!q/a proclaimed at revision 4");
  ObserveAll({four, three});
  EXPECT_NE(Wrong(), "");
  ObserveAll({two, four});
  EXPECT_NE(Wrong(), "");
  events_.Compacted(4);
  ObserveAll({one, four});
  EXPECT_EQ(Wrong(), "");
}

TEST_F(LockJudgeTest, AnObserverThatACompactionOvertookLooksTheLeaderUp) {
  Put(7, kSecond, 3, "seven");
  Put(8, kSecond, 3, "eight");
  Put(9, kSecond, 3, "nine");
  Put(10, kFirst, 10, "again");
  const std::string two = Leader(6, 3, kSecond, 3, "two");
  const std::string event = Leader(9, 9, kSecond, 3, "nine");
  const std::string look_up = Leader(10, 9, kSecond, 3, "nine");
  events_.Compacted(6);
  ObserveAll({two, look_up});
  EXPECT_NE(Wrong(), "") << "it has seen all that was compacted";
  events_.Compacted(7);
  ObserveAll({two, look_up});
  EXPECT_EQ(Wrong(), "");
  ObserveAll({two, event});
  EXPECT_EQ(Wrong(), "k!q: not told of what k!q/b proclaimed at revision 8");
}

}  // namespace
}  // namespace kvorum::sim
