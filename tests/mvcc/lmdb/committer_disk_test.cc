// A committer that meets a full disk, or one whose sync fails.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/mvcc/committer_fixture.h"

namespace kvorum::mvcc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(CommitterTest, ACommitThatMeetsAFullDiskIsTriedAgainOnceASecondUntilThereIsSpace) {
  Start();
  Write(2);
  committer_->Flush([] {});
  executor_.Run();
  FillDisk();
  Write(3);
  bool flushed = false;
  committer_->Flush([&] { flushed = true; });
  executor_.Run();
  EXPECT_TRUE(committer_->stalled());
  EXPECT_THAT(fatal_, IsEmpty());
  EXPECT_FALSE(flushed);
  EXPECT_NE(buffer_.CurrentView().Find({3, 0}), nullptr) << "readable all the while";

  // However much is published and asked for meanwhile, one attempt a second is made.
  std::uint64_t refused = world_.files.counters().no_space_errors;
  EXPECT_EQ(refused, 1u);
  for (std::int64_t main = 4; main < 300; ++main) {
    Write(main);
    clock_.Advance(std::chrono::milliseconds(10));
    executor_.Run();
  }
  EXPECT_EQ(world_.files.counters().no_space_errors, refused + 2);
  EXPECT_THAT(durable_, ElementsAre(2));

  world_.files.SetCapacity(std::nullopt);
  clock_.Advance(std::chrono::seconds(1));
  executor_.Run();
  EXPECT_FALSE(committer_->stalled());
  EXPECT_TRUE(flushed);
  EXPECT_THAT(durable_, ElementsAre(2, 3, 299)) << "what met the full disk, then all the rest";
  EXPECT_TRUE(Holds(3) && Holds(299));
  EXPECT_EQ(buffer_.PendingBytes(), 0u);
  EXPECT_EQ(executor_.timers(), 0u) << "no retry is left behind";
}

TEST_F(CommitterTest, WhoFillsTheBufferWaitsForTheSpaceToComeBack) {
  Start();
  FillDisk();
  Write(2, std::string(2 << 20, 'x'));
  ASSERT_TRUE(buffer_.OverLimit());
  bool resumed = false;
  buffer_.WhenRoom([&] { resumed = true; });
  executor_.Run();
  clock_.Advance(std::chrono::seconds(5));
  executor_.Run();
  EXPECT_FALSE(resumed);
  world_.files.SetCapacity(std::nullopt);
  clock_.Advance(std::chrono::seconds(1));
  executor_.Run();
  EXPECT_TRUE(resumed);
  EXPECT_TRUE(Holds(2));
}

TEST_F(CommitterTest, OnAFullDiskDeletionsWaitInTheirTurnAndADefragmentationIsRefused) {
  Start();
  for (std::int64_t main = 2; main < 6; ++main) Write(main);
  committer_->Flush([] {});
  executor_.Run();
  FillDisk();
  std::vector<int> order;
  committer_->PostDeletions({{2, 0}}, [&] { order.push_back(1); });
  committer_->PostDeletions({{3, 0}}, [&] { order.push_back(2); });
  Result<void> defragmented;
  committer_->Defragment([&](Result<void> result) { defragmented = std::move(result); });
  RunBoth();
  EXPECT_THAT(order, IsEmpty());
  ASSERT_FALSE(defragmented.has_value());
  EXPECT_EQ(defragmented.error().code, Code::kResourceExhausted);
  EXPECT_TRUE(Holds(2) && Holds(3)) << "nothing of a commit that met the full disk";
  world_.files.SetCapacity(std::nullopt);
  clock_.Advance(std::chrono::seconds(1));
  executor_.Run();
  EXPECT_THAT(order, ElementsAre(1, 2));
  EXPECT_FALSE(Holds(2) || Holds(3));
}

TEST_F(CommitterTest, ADefragmentationThatMeetsAFullDiskAtItsEndGivesItsCopyBack) {
  Start();
  Write(2);
  Result<void> answer;
  committer_->Defragment([&](Result<void> result) { answer = std::move(result); });
  executor_.Run();
  copier_.Run();
  FillDisk();
  Write(3);
  executor_.Run();
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::kResourceExhausted);
  world_.files.SetCapacity(std::nullopt);
  clock_.Advance(std::chrono::seconds(1));
  executor_.Run();
  EXPECT_TRUE(Holds(3));
  committer_->Defragment([&](Result<void> result) { answer = std::move(result); });
  RunBoth();
  EXPECT_TRUE(answer.has_value()) << "none is running any more";
}

TEST_F(CommitterTest, TheEndDoesNotWaitForSpace) {
  Start();
  FillDisk();
  Write(2);
  bool closed = false;
  committer_->Close([&] { closed = true; });
  executor_.Run();
  EXPECT_TRUE(closed);
  EXPECT_FALSE(Holds(2)) << "it is in the log";
}

TEST_F(CommitterTest, TheEndCommitsWhatWaitedIfThereIsSpaceAgain) {
  Start();
  FillDisk();
  Write(2);
  committer_->Flush([] {});
  executor_.Run();
  ASSERT_TRUE(committer_->stalled());
  Write(3);
  world_.files.SetCapacity(std::nullopt);
  bool closed = false;
  committer_->Close([&] { closed = true; });
  executor_.Run();
  EXPECT_TRUE(closed);
  EXPECT_TRUE(Holds(2) && Holds(3));
}

TEST_F(CommitterTest, AnotherBackendEndsTheWaitForSpace) {
  Start();
  FillDisk();
  Write(2);
  bool flushed = false;
  bool deleted = false;
  committer_->Flush([&] { flushed = true; });
  committer_->PostDeletions({{2, 0}}, [&] { deleted = true; });
  executor_.Run();
  world_.files.SetCapacity(std::nullopt);
  auto other = OpenMemoryBackend(world_.files, "/data/other").value();
  WriteBuffer other_buffer({});
  executor_.Post([&] { committer_->Retarget(*other, other_buffer, nullptr); });
  executor_.Run();
  EXPECT_FALSE(committer_->stalled());
  EXPECT_TRUE(flushed);
  EXPECT_FALSE(deleted) << "they were of the old content";
  clock_.Advance(std::chrono::seconds(5));
  executor_.Run();
  EXPECT_EQ(ContentOf(*other).size(), 0u) << "nothing of the old content is written to the new";
}

TEST_F(CommitterTest, AFailedSyncIsFatalWhileTheDiskIsFullToo) {
  Start();
  FillDisk();
  Write(2);
  committer_->Flush([] {});
  executor_.Run();
  ASSERT_TRUE(committer_->stalled());
  world_.files.SetCapacity(std::nullopt);
  world_.files.FailPath(SimFileSystem::Operation::kSync, "/data/db",
                        SimFileSystem::Fault::kNoSpace);
  clock_.Advance(std::chrono::seconds(1));
  executor_.Run();
  EXPECT_EQ(fatal_.size(), 1u);
  world_.files.ClearFaults();
  clock_.Advance(std::chrono::seconds(5));
  executor_.Run();
  EXPECT_EQ(fatal_.size(), 1u) << "and never tried again";
  EXPECT_FALSE(Holds(2));
}

}  // namespace
}  // namespace kvorum::mvcc
