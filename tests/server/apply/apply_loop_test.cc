// The order in which entries, snapshots and reads take their turns, on executors that the test runs
// by hand; and the end of applying, over a whole member: an entry in the log that this version
// cannot apply.
#include "server/apply/apply_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "base/log/logging.h"
#include "server/apply/wait_table.h"
#include "server/replica/member/member_state.h"
#include "server/replica/recovery/local_member_options.h"
#include "server/state/raft_status.h"
#include "tests/disk/memory_backend.h"
#include "tests/disk/sim_file_system.h"
#include "tests/mvcc/manual_executor.h"
#include "tests/server/replica/small_member.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A put that takes the value or the lease from the key's last.
std::string PutThatKeeps(std::string_view key, std::uint32_t field) {
  std::string body = PutBody(key, "");
  wire::AppendBool(body, field, true);
  return body;
}

std::string PutWithLease(std::string_view key, std::int64_t lease) {
  std::string body = PutBody(key, "value");
  wire::AppendInt(body, 3, lease);
  return body;
}

// Committed entries into a store, one after the other.
class ApplyTurnsTest : public ::testing::Test {
 protected:
  ApplyTurnsTest() {
    SetLogLevel(LogLevel::kError);
    LocalMemberOptions options;
    options.snap_dir = "/snap";
    options.store.buffer.limit_bytes = 1'000'000;
    options.store.restore_threads = 1;
    EXPECT_TRUE(fs_.MakeDirectories(options.snap_dir).has_value());
    auto state = MemberState::Open(
        fs_, mvcc::OpenMemoryBackend(fs_, "/snap/db").value(),
        {.apply = threads_.apply, .backend = threads_.backend, .copier = threads_.copier}, options,
        {});
    state_ = std::move(state).value();
    EXPECT_TRUE(state_->Load(1, nullptr).has_value());
    applier_ = std::make_unique<Applier>(
        state_->store(), state_->membership(), state_->alarms(), state_->quota(), state_->leases(),
        state_->auth_applier(), waiters_,
        Applier::Hooks{.on_conf_change = {},
                       .on_no_space = {},
                       .on_fatal = [this](const Error& error) { fatal_ = error; }},
        Applier::Bounds{.batch_bytes = 1'000'000});
    loop_ = std::make_unique<ApplyLoop>(
        state_->store(), *applier_, threads_.apply, status_, Duration::zero(),
        [this](raft::Index applied) { told_.push_back(applied.value()); },
        [this](const std::shared_ptr<const raft::Snapshot>& snapshot, Task done) {
          installing_ = snapshot->metadata.index;
          installed_ = std::move(done);
        });
  }
  ~ApplyTurnsTest() override {
    loop_->Stop();
    state_->store().Close([] {});
    threads_.RunAll();
  }

  // The next entries of the log.
  void Push(int count, std::size_t value_bytes = 1) {
    std::vector<raft::Entry> entries;
    for (int i = 0; i < count; ++i)
      entries.push_back(
          NextEntry(RequestKind::kPut, PutBody("key", std::string(value_bytes, 'v'))));
    loop_->Push(std::move(entries));
  }
  void PushOne(RequestKind kind, std::string_view body) {
    std::vector<raft::Entry> entries;
    entries.push_back(NextEntry(kind, body));
    loop_->Push(std::move(entries));
  }
  raft::Entry NextEntry(RequestKind kind, std::string_view body) {
    ++last_;
    return {.term = 1, .index = last_, .data = EncodeInternalRequest(last_.value(), kind, body)};
  }
  void PushSnapshot(raft::Index index) {
    last_ = index;
    loop_->PushSnapshot(std::make_shared<const raft::Snapshot>(
        raft::Snapshot{.metadata = {.index = index, .term = 1}}));
  }
  void RunApply() {
    while (threads_.apply.RunOne()) {
    }
  }
  // The read that must see this entry.
  void Read(raft::Index index) {
    loop_->WaitApplied(
        index, TimePoint{} + std::chrono::seconds(7), [this, index](const Result<void>& result) {
          reads_.push_back(std::to_string(index.value()) + (result.has_value() ? "" : " failed"));
        });
  }

  SimFileSystem fs_;
  ManualExecutors threads_;
  std::unique_ptr<MemberState> state_;
  WaitTable waiters_;
  std::unique_ptr<Applier> applier_;
  RaftStatus status_;
  std::unique_ptr<ApplyLoop> loop_;
  raft::Index last_ = 0;
  std::vector<std::uint64_t> told_;
  std::vector<std::string> reads_;
  std::optional<raft::Index> installing_;
  Task installed_;
  std::optional<Error> fatal_;
};

TEST_F(ApplyTurnsTest, WhatIsQueuedIsAppliedAsOneBatch) {
  Push(1);
  Push(2);
  Push(3);
  EXPECT_EQ(status_.applied_index(), 0U) << "nothing is done on the raft executor";
  RunApply();
  EXPECT_THAT(told_, ElementsAre(6));
  EXPECT_EQ(status_.applied_index(), 6U);
  EXPECT_EQ(state_->store().readable_revision(), 7);
}

TEST_F(ApplyTurnsTest, ALoneShortPutIsAppliedWhereItIsPushed) {
  threads_.apply.SetLends(true);
  Push(1);
  EXPECT_EQ(status_.applied_index(), 1U);
  EXPECT_EQ(state_->store().readable_revision(), 2);
  Push(2);
  EXPECT_EQ(status_.applied_index(), 1U) << "more than one";
  Push(1);
  EXPECT_EQ(status_.applied_index(), 1U) << "behind others";
  RunApply();
  EXPECT_EQ(status_.applied_index(), 4U);
}

TEST_F(ApplyTurnsTest, WhatMayTakeLongIsAppliedOnTheApplyExecutor) {
  threads_.apply.SetLends(true);
  std::vector<std::pair<RequestKind, std::string>> others = {
      {RequestKind::kPut, PutBody("key", std::string(5'000, 'v'))},
      {RequestKind::kPut, PutWithPrevKvBody("key", "v")},
      {RequestKind::kPut, PutThatKeeps("key", /*field=*/5)},  // ignore_value
      {RequestKind::kPut, PutThatKeeps("key", /*field=*/6)},  // ignore_lease
      {RequestKind::kPut, PutWithLease("key", 7)},
      {RequestKind::kDeleteRange, DeleteBody("key")}};
  for (const auto& [kind, body] : others) {
    PushOne(kind, body);
    EXPECT_EQ(status_.applied_index(), last_.value() - 1) << static_cast<int>(kind);
    RunApply();
    EXPECT_EQ(status_.applied_index(), last_);
  }
}

TEST_F(ApplyTurnsTest, WhatReadsWaitForALentPut) {
  threads_.apply.SetLends(true);
  Read(1);
  Push(1);
  EXPECT_THAT(reads_, ElementsAre("1"));
}

TEST_F(ApplyTurnsTest, ABatchEndsBeforeTheEntriesThatAreTooManyForIt) {
  Push(600);
  Push(400);
  Push(1);
  RunApply();
  EXPECT_THAT(told_, ElementsAre(1'000, 1'001));
}

TEST_F(ApplyTurnsTest, ASnapshotTakesItsTurnAndNothingIsAppliedWhileItIsInstalled) {
  Push(2);
  PushSnapshot(10);
  Push(1);
  Read(11);
  RunApply();
  EXPECT_EQ(installing_, 10U);
  EXPECT_THAT(told_, ElementsAre(2));
  Push(1);
  RunApply();
  EXPECT_THAT(told_, ElementsAre(2));
  applier_->Installed(10, 1);
  installed_();
  RunApply();
  EXPECT_THAT(told_, ElementsAre(2, 10, 11, 12));
  EXPECT_THAT(reads_, ElementsAre("11"));
}

TEST_F(ApplyTurnsTest, AHoleAmongTheEntriesThatWaitIsABrokenInvariant) {
  PushSnapshot(5);  // the entries wait behind it
  Push(1);
  ++last_;  // an entry that never comes
  Push(1);
  RunApply();
  EXPECT_DEATH(loop_->CheckInvariants(), "entries to be applied are not consecutive");
}

TEST_F(ApplyTurnsTest, WhileTheWriteBufferIsFullNoEntryIsTaken) {
  Push(1, 600'000);
  Push(1, 600'000);
  Push(1);
  Push(1);
  RunApply();
  EXPECT_THAT(told_, ElementsAre(2)) << "the entry that reaches the bound is the last";
  Read(4);
  Push(1);
  RunApply();
  EXPECT_THAT(told_, ElementsAre(2));
  threads_.RunAll();
  EXPECT_EQ(status_.applied_index(), 5U) << "it goes on once a commit has made room";
  EXPECT_THAT(reads_, ElementsAre("4"));
  EXPECT_EQ(state_->store().readable_revision(), 6);
}

TEST_F(ApplyTurnsTest, BehindAnEntryThatCannotBeAppliedTheLoopStops) {
  Push(1);
  RunApply();
  loop_->Push({{.term = 1, .index = ++last_, .data = SharedBytes::Own("\xff\xff")}});
  Push(1);
  Read(2);
  RunApply();
  EXPECT_TRUE(fatal_.has_value());
  EXPECT_THAT(told_, ElementsAre(1));
  Read(1);
  EXPECT_THAT(reads_, ElementsAre("2 failed", "1 failed"));
}

TEST_F(ApplyTurnsTest, WhatWaitsAndComesIsDroppedBehindStop) {
  Push(1);
  RunApply();
  Push(1);
  Read(2);
  loop_->Stop();
  EXPECT_THAT(reads_, ElementsAre("2 failed"));
  Push(1);
  PushSnapshot(10);
  RunApply();
  EXPECT_THAT(told_, ElementsAre(1));
  EXPECT_EQ(installing_, std::nullopt);
}

TEST_F(ApplyTurnsTest, AReadThatWaitsTooLongIsToldSo) {
  Read(1);
  loop_->ExpireWaiting(TimePoint{} + std::chrono::seconds(6));
  EXPECT_THAT(reads_, IsEmpty());
  loop_->ExpireWaiting(TimePoint{} + std::chrono::seconds(7));
  EXPECT_THAT(reads_, ElementsAre("1 failed"));
}

class ApplyLoopTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto started = member_.Start();
    ASSERT_TRUE(started.has_value()) << started.error().message;
    ASSERT_TRUE(member_.CatchUp());
  }
  void Put(const std::string& key) {
    member_.Propose(RequestKind::kPut, PutBody(key, "v"), [this](const auto& value) {
      if (value.has_value()) ++acknowledged_;
    });
  }
  // An entry that is not a request of ours.
  void ProposeGarbage() {
    std::vector<Proposal> proposals;
    proposals.push_back({.id = 1,
                         .data = SharedBytes::Own("\xff\xff\xff"),
                         .deadline = member_.lanes().clock().Now() + std::chrono::seconds(7),
                         .waiter = nullptr});
    member_.local_member().replica().Propose(std::move(proposals));
  }
  bool Has(const std::string& key) { return member_.Get(key, 0).value().has_value(); }

  SimFileSystem fs_;
  SmallMember member_{fs_, 5};
  int acknowledged_ = 0;
};

TEST_F(ApplyLoopTest, BehindAnEntryThatCannotBeAppliedNothingIsAppliedOrAnswered) {
  Put("before");
  ASSERT_TRUE(member_.lanes().RunUntil([&] { return acknowledged_ == 1; }));
  const raft::Index applied = member_.local_member().replica().applied_index();
  ProposeGarbage();
  ASSERT_TRUE(member_.lanes().RunUntil([&] { return member_.fatal().has_value(); }));
  EXPECT_THAT(member_.fatal()->message,
              HasSubstr("cannot apply log entry " + std::to_string((applied + 1).value())));

  // The owner ends the process; until then the loop does nothing.
  for (int i = 0; i < 20; ++i) Put("after");
  bool read_succeeded = false;
  member_.local_member().replica().ReadIndex(
      [&](const Result<void>& result) { read_succeeded = result.has_value(); });
  member_.lanes().RunFor(std::chrono::seconds(10));
  EXPECT_EQ(member_.local_member().replica().applied_index(), applied);
  EXPECT_EQ(acknowledged_, 1);
  EXPECT_FALSE(read_succeeded);
  EXPECT_TRUE(Has("before"));
  EXPECT_FALSE(Has("after"));
}

TEST_F(ApplyLoopTest, OfABatchWithSuchAnEntryNothingIsShownAndARestartStopsThereAgain) {
  member_.lanes().Hold(member_.lanes().apply(), true);
  Put("same batch");
  ProposeGarbage();
  Put("same batch, behind");
  member_.lanes().RunFor(std::chrono::seconds(2));
  member_.lanes().Hold(member_.lanes().apply(), false);
  ASSERT_TRUE(member_.lanes().RunUntil([&] { return member_.fatal().has_value(); }));
  member_.lanes().RunFor(std::chrono::seconds(2));
  EXPECT_EQ(acknowledged_, 0);
  EXPECT_FALSE(Has("same batch"));

  fs_.Kill();
  SmallMember again(fs_, 6);
  ASSERT_TRUE(again.Start().has_value());
  ASSERT_TRUE(again.lanes().RunUntil([&] { return again.fatal().has_value(); }));
  again.lanes().RunFor(std::chrono::seconds(2));
  EXPECT_FALSE(again.Get("same batch, behind", 0).value().has_value());
}

}  // namespace
}  // namespace kvorum::server
