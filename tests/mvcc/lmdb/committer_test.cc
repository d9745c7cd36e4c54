// The committer's batches, deletions and defragmentations, on a lane whose time the test sets.
#include "mvcc/lmdb/committer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "base/failpoint/failpoint_control.h"
#include "tests/mvcc/committer_fixture.h"

namespace kvorum::mvcc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST_F(CommitterTest, APublishIsCommittedAfterTheBatchInterval) {
  Start();
  Write(2);
  clock_.Advance(std::chrono::milliseconds(60));
  executor_.Run();
  EXPECT_FALSE(Holds(2));
  Write(3);
  clock_.Advance(std::chrono::milliseconds(40));
  executor_.Run();
  EXPECT_TRUE(Holds(2) && Holds(3)) << "one commit takes all";
  EXPECT_THAT(durable_, ElementsAre(3));
  ASSERT_EQ(commits_.size(), 1u);
  EXPECT_EQ(commits_[0].operations, 3u);
  EXPECT_EQ(buffer_.PendingBytes(), 0u);

  clock_.Advance(std::chrono::seconds(10));
  executor_.Run();
  EXPECT_EQ(commits_.size(), 1u) << "nothing to do, nothing done";
}

TEST_F(CommitterTest, MuchIsCommittedAtOnce) {
  Start();
  for (std::int64_t main = 2; main < 90; ++main) Write(main);
  EXPECT_EQ(executor_.queued(), 0u);
  for (std::int64_t main = 90; main < 120; ++main) Write(main);
  EXPECT_EQ(executor_.queued(), 1u) << "asked for once";
  executor_.Run();
  EXPECT_THAT(durable_, ElementsAre(119));
  for (std::int64_t main = 120; main < 300; ++main) Write(main);
  executor_.Run();
  EXPECT_THAT(durable_, ElementsAre(119, 299)) << "and again";
}

TEST_F(CommitterTest, BytesCountToo) {
  options_.batch_bytes = 100'000;
  Start();
  Write(2, std::string(99'000, 'x'));
  EXPECT_EQ(executor_.queued(), 0u);
  Write(3, std::string(1000, 'x'));
  EXPECT_EQ(executor_.queued(), 1u);
  executor_.Run();
  EXPECT_THAT(durable_, ElementsAre(3));
}

TEST_F(CommitterTest, AFullBufferIsEmptiedAtOnceAndItsWriterResumed) {
  options_.batch_bytes = std::uint64_t{1} << 40;
  Start();
  Write(2, std::string(2 << 20, 'x'));
  ASSERT_TRUE(buffer_.OverLimit());
  bool resumed = false;
  buffer_.WhenRoom([&] { resumed = true; });
  executor_.Run();
  EXPECT_TRUE(resumed);
  EXPECT_TRUE(Holds(2));
}

TEST_F(CommitterTest, AFlushCoversWhatWasPublishedBeforeIt) {
  Start();
  Write(2);
  Append(3, "staged");
  bool done = false;
  committer_->Flush([&] { done = true; });
  EXPECT_FALSE(done);
  executor_.Run();
  EXPECT_TRUE(done);
  EXPECT_TRUE(Holds(2));
  EXPECT_FALSE(Holds(3));
  done = false;
  committer_->Flush([&] { done = true; });
  executor_.Run();
  EXPECT_TRUE(done) << "with nothing to commit too";
  EXPECT_EQ(commits_.size(), 1u);
}

TEST_F(CommitterTest, DeletionsReachRevisionsThatStillWaitInTheBuffer) {
  Start();
  Write(2);
  Write(3);
  bool done = false;
  buffer_.Put(Bucket::kMeta, meta_key::kFinishedCompact, "mark");
  Write(4);
  committer_->PostDeletions({{2, 0}, {3, 0}}, [&] { done = true; });
  executor_.Run();
  EXPECT_TRUE(done);
  EXPECT_FALSE(Holds(2) || Holds(3));
  EXPECT_TRUE(Holds(4));
  const Content content = Committed();
  EXPECT_TRUE(content.contains({Bucket::kMeta, std::string(meta_key::kFinishedCompact)}));
  ASSERT_EQ(commits_.size(), 1u) << "one transaction";
}

TEST_F(CommitterTest, AFailedCommitIsReportedOnceAndEndsAll) {
  Start();
  Write(2);
  committer_->Flush([] {});
  executor_.Run();
  world_.files.FailPath(SimFileSystem::Operation::kSync, "/data/db",
                        SimFileSystem::Fault::kIoError);
  Write(3);
  bool called = false;
  committer_->Flush([&] { called = true; });
  committer_->Flush([&] { called = true; });
  committer_->PostDeletions({{2, 0}}, [&] { called = true; });
  committer_->Defragment([&](Result<void>) { called = true; });
  RunBoth();
  ASSERT_EQ(fatal_.size(), 1u);
  EXPECT_EQ(fatal_[0].code, Code::kDataLoss);
  EXPECT_FALSE(called);
  EXPECT_THAT(durable_, ElementsAre(2));
  EXPECT_NE(buffer_.CurrentView().Find({3, 0}), nullptr) << "what is not durable stays readable";
}

TEST_F(CommitterTest, CommitsGoOnDuringADefragmentation) {
  Start();
  for (std::int64_t main = 2; main < 50; ++main) Write(main, std::string(1000, 'x'));
  std::vector<Revision> old;
  for (std::int64_t main = 2; main < 49; ++main) old.push_back({main, 0});
  committer_->PostDeletions(old, [] {});
  bool done = false;
  committer_->Defragment([&](Result<void> result) {
    EXPECT_TRUE(result.has_value());
    done = true;
  });
  executor_.Run();
  ASSERT_EQ(copier_.queued(), 1u);
  Write(50);
  committer_->Flush([] {});
  executor_.Run();
  EXPECT_TRUE(Holds(50)) << "committed while the copy waits";
  const std::uint64_t before = backend_->SizeBytes();
  Write(51);
  RunBoth();
  EXPECT_TRUE(done);
  EXPECT_LT(backend_->SizeBytes(), before / 4);
  EXPECT_TRUE(Holds(49) && Holds(50) && Holds(51));
}

TEST_F(CommitterTest, DefragmentationsDuringOneShareTheNext) {
  Start();
  Write(2);
  std::vector<int> order;
  const auto ask = [&](int who) {
    committer_->Defragment([&order, who](Result<void> result) {
      EXPECT_TRUE(result.has_value());
      order.push_back(who);
    });
  };
  ask(1);
  executor_.Run();
  ask(2);
  ask(3);
  executor_.Run();
  copier_.Run();
  EXPECT_THAT(order, IsEmpty());
  executor_.Run();
  EXPECT_THAT(order, ElementsAre(1));
  EXPECT_EQ(copier_.queued(), 1u) << "the next run";
  RunBoth();
  EXPECT_THAT(order, ElementsAre(1, 2, 3));
}

TEST_F(CommitterTest, AFailedDefragmentationIsAnsweredAndServiceGoesOn) {
  Start();
  Write(2);
  world_.files.FailPath(SimFileSystem::Operation::kOpen, "db.tmp", SimFileSystem::Fault::kNoSpace);
  Result<void> answer;
  committer_->Defragment([&](Result<void> result) { answer = std::move(result); });
  RunBoth();
  ASSERT_FALSE(answer.has_value());
  EXPECT_EQ(answer.error().code, Code::kResourceExhausted);
  world_.files.ClearFaults();
  committer_->Defragment([&](Result<void> result) { answer = std::move(result); });
  Write(3);
  RunBoth();
  EXPECT_TRUE(answer.has_value());
  EXPECT_TRUE(Holds(3));
  EXPECT_THAT(fatal_, IsEmpty());
}

TEST_F(CommitterTest, ADefragmentationThatCannotKeepItsNameIsFatal) {
  Start();
  Write(2);
  committer_->Flush([] {});
  executor_.Run();
  bool answered = false;
  committer_->Defragment([&](Result<void>) { answered = true; });
  executor_.Run();
  copier_.Run();
  world_.files.FailPath(SimFileSystem::Operation::kSync, "/data", SimFileSystem::Fault::kIoError);
  // The sync of the new file fails before it takes the old one's place: no harm.
  executor_.Run();
  EXPECT_TRUE(answered);
  EXPECT_THAT(fatal_, IsEmpty());

  world_.files.ClearFaults();
  answered = false;
  committer_->Defragment([&](Result<void>) { answered = true; });
  executor_.Run();
  copier_.Run();
  // Remove the leftover, create, write, sync, rename; the folder's sync fails.
  world_.files.FailAt(6, SimFileSystem::Fault::kIoError);
  executor_.Run();
  EXPECT_FALSE(answered);
  EXPECT_EQ(fatal_.size(), 1u);
}

TEST_F(CommitterTest, EachPointOfACommitIsReached) {
  Start();
  const std::vector<const char*> points = {"commitBeforePreCommitHook",
                                           "commitAfterPreCommitHook",
                                           "beforeStartDBTxn",
                                           "afterStartDBTxn",
                                           "beforeCommit",
                                           "afterCommit",
                                           "beforeWritebackBuf",
                                           "afterWritebackBuf"};
  for (const char* point : points) ASSERT_TRUE(failpoint::Set(point, "sleep(0)").has_value());
  Write(2);
  committer_->Flush([] {});
  executor_.Run();
  for (const char* point : points) EXPECT_EQ(failpoint::Count(point).value(), 1u) << point;
  failpoint::ClearAll();
}

}  // namespace
}  // namespace kvorum::mvcc
