// The committer on a lane whose time the test sets, then on real threads over both backends.
#include "mvcc/committer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <map>
#include <semaphore>
#include <thread>
#include <vector>

#include "base/failpoint.h"
#include "base/rng.h"
#include "tests/disk/memory_backend.h"
#include "tests/mvcc/backend_worlds.h"

namespace kvorum::mvcc {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

// Runs posted tasks when the test says so.
class ManualExecutor final : public Executor {
 public:
  explicit ManualExecutor(ManualClock& clock) : clock_(clock) {}
  void Post(Task task) override { queue_.push_back(std::move(task)); }
  void PostAt(TimePoint when, Task task) override { timed_.emplace(when, std::move(task)); }
  const Clock& clock() const override { return clock_; }

  std::size_t queued() const { return queue_.size(); }
  std::size_t timers() const { return timed_.size(); }
  // Runs posted and due tasks until nothing is left.
  void Run() {
    while (true) {
      if (!timed_.empty() && timed_.begin()->first <= clock_.Now()) {
        queue_.push_back(std::move(timed_.begin()->second));
        timed_.erase(timed_.begin());
      }
      if (queue_.empty()) return;
      Task task = std::move(queue_.front());
      queue_.pop_front();
      task();
    }
  }

 private:
  ManualClock& clock_;
  std::deque<Task> queue_;
  std::multimap<TimePoint, Task> timed_;
};

class CommitterTest : public ::testing::Test {
 protected:
  CommitterTest() {
    options_.on_durable = [this](std::uint64_t index) { durable_.push_back(index); };
    options_.on_fatal = [this](const Error& error) { fatal_.push_back(error); };
    options_.on_commit = [this](const Committer::CommitStats& stats) { commits_.push_back(stats); };
    options_.batch_operations = 100;
  }
  void Start() {
    backend_ = world_.Open().value();
    committer_ =
        std::make_unique<Committer>(*backend_, buffer_, executor_, copier_, std::move(options_));
  }
  void Append(std::int64_t main, std::string_view value) {
    value.copy(buffer_.Append({main, 0}, false, value.size()), value.size());
  }
  void Write(std::int64_t main, std::string_view value = "v") {
    Append(main, value);
    buffer_.Put(Bucket::kMeta, meta_key::kConsistentIndex, std::to_string(main));
    committer_->Publish(static_cast<std::uint64_t>(main));
  }
  // Not a byte more.
  void FillDisk() { world_.files.SetCapacity(0); }
  void RunBoth() {
    while (executor_.queued() + copier_.queued() > 0) {
      executor_.Run();
      copier_.Run();
    }
  }
  Content Committed() { return ContentOf(*backend_); }
  bool Holds(std::int64_t main) {
    return Committed().contains({Bucket::kKey, std::string(RevisionKey({main, 0}).view())});
  }

  ManualClock clock_;
  ManualExecutor executor_{clock_};
  ManualExecutor copier_{clock_};
  MemoryWorld world_;
  WriteBuffer buffer_{{.limit_bytes = 1 << 20}};
  std::unique_ptr<Backend> backend_;
  Committer::Options options_;
  std::unique_ptr<Committer> committer_;
  std::vector<std::uint64_t> durable_;
  std::vector<Error> fatal_;
  std::vector<Committer::CommitStats> commits_;
};

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

// ---- a full disk ----

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

// ---- defragmentation ----

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

#ifdef KVORUM_FAILPOINTS
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
#endif

// Everything reported durable is on the disk, at whatever operation the power goes off.
TEST(CommitterCrash, DurableMeansDurable) {
  Rng rng(9);
  for (std::uint64_t at = 1; at < 120; ++at) {
    SCOPED_TRACE(at);
    MemoryWorld world;
    std::uint64_t durable = 0;
    {
      auto backend = world.Open().value();
      world.files.PowerOffAt(at);
      ManualClock clock;
      ManualExecutor executor(clock);
      WriteBuffer buffer({});
      bool failed = false;
      Committer committer(*backend, buffer, executor, executor,
                          {.on_durable = [&](std::uint64_t index) { durable = index; },
                           .on_written = {},
                           .on_commit = {},
                           .on_fatal = [&](const Error&) { failed = true; }});
      for (std::int64_t main = 2; main < 100 && !failed; ++main) {
        const std::string value = std::to_string(main);
        value.copy(buffer.Append({main, 0}, false, value.size()), value.size());
        buffer.Put(Bucket::kMeta, meta_key::kConsistentIndex, value);
        committer.Publish(static_cast<std::uint64_t>(main));
        if (rng.OneIn(4)) clock.Advance(std::chrono::milliseconds(100));
        if (main % 10 == 0) committer.PostDeletions({{main - 5, 0}}, [] {});
        if (main % 30 == 0) committer.Defragment([](Result<void>) {});
        executor.Run();
      }
    }
    world.files.Crash(SimFileSystem::Keep::kRandom, rng);
    world.files.ClearFaults();
    const Content content = ContentOf(*world.Open().value());
    std::uint64_t index = 0;
    if (const auto found = content.find({Bucket::kMeta, std::string(meta_key::kConsistentIndex)});
        found != content.end()) {
      index = std::stoull(found->second);
    }
    ASSERT_GE(index, durable);
    for (std::int64_t main = 2; main <= static_cast<std::int64_t>(index); ++main) {
      const std::string key(RevisionKey({main, 0}).view());
      const bool held = content.contains({Bucket::kKey, key});
      if (main % 10 != 5) {
        ASSERT_TRUE(held) << "revision " << main << " of index " << index;
      }
    }
    const Content::const_iterator beyond = content.find(
        {Bucket::kKey, std::string(RevisionKey({static_cast<std::int64_t>(index) + 1, 0}).view())});
    ASSERT_EQ(beyond, content.end()) << "data and index are one commit";
  }
}

// ---- real threads ----

template <class World>
class CommitterThreads : public ::testing::Test {};
using Worlds = ::testing::Types<LmdbWorld, MemoryWorld>;
TYPED_TEST_SUITE(CommitterThreads, Worlds);

// One thread appends with back-pressure, two look everything up, the committer commits, deletes and
// defragments: nothing that was published and not deleted is ever missing or different.
TYPED_TEST(CommitterThreads, NothingEverDisappears) {
  constexpr std::int64_t kLast = 12'000;
  constexpr std::int64_t kKept = 3'000;  // the newest ones, which no compaction touches
  TypeParam world;
  auto backend = world.Open().value();
  WriteBuffer buffer({.limit_bytes = 200'000});
  std::atomic<std::int64_t> published{1};
  std::atomic<std::int64_t> compacted{1};
  std::atomic<std::uint64_t> durable{0};
  std::atomic<bool> stop{false};
  std::atomic<int> defragmented{0};
  std::atomic<std::int64_t> found_in_buffer{0};
  std::atomic<std::int64_t> found_in_backend{0};
  const auto value_of = [](std::int64_t main) {
    return "value " + std::to_string(main) + std::string(static_cast<std::size_t>(main % 200), 'x');
  };

  ThreadExecutor copier("copier");
  ThreadExecutor executor("backend");
  Committer committer(*backend, buffer, executor, copier,
                      {.batch_interval = std::chrono::milliseconds(5),
                       .batch_operations = 300,
                       .on_durable = [&](std::uint64_t index) { durable.store(index); },
                       .on_written = {},
                       .on_commit = {},
                       .on_fatal = [](const Error& error) { FAIL() << error.message; }});

  const auto read = [&](std::uint64_t seed) {
    Rng rng(seed);
    while (!stop.load()) {
      const std::int64_t newest = published.load();
      if (newest < 10) continue;
      const auto view = buffer.CurrentView();
      const auto reader = backend->NewReader();
      ASSERT_TRUE(reader.has_value());
      for (int i = 0; i < 5; ++i) {
        const std::int64_t oldest = std::max<std::int64_t>(2, newest - kKept / 2);
        std::int64_t main =
            oldest +
            static_cast<std::int64_t>(rng.Below(static_cast<std::uint64_t>(newest - oldest + 1)));
        if (i == 0) main = newest;
        if (const RevisionRecord* record = view.Find({main, 0})) {
          ++found_in_buffer;
          ASSERT_EQ(record->value, value_of(main));
          continue;
        }
        const auto record = (*reader)->GetRevision({main, 0});
        ASSERT_TRUE(record.has_value()) << record.error().message;
        ++found_in_backend;
        if (!record->has_value()) {
          ASSERT_LE(main, compacted.load()) << "a published revision is gone";
          continue;
        }
        ASSERT_EQ((*record)->value, value_of(main));
      }
    }
  };
  std::thread reader1(read, 1);
  std::thread reader2(read, 2);
  std::thread defragmenter([&] {
    while (!stop.load()) {
      std::binary_semaphore done(0);
      committer.Defragment([&](Result<void> result) {
        ASSERT_TRUE(result.has_value()) << result.error().message;
        ++defragmented;
        done.release();
      });
      done.acquire();
      std::this_thread::yield();
    }
  });

  for (std::int64_t main = 2; main <= kLast; ++main) {
    const std::string value = value_of(main);
    value.copy(buffer.Append({main, 0}, false, value.size()), value.size());
    buffer.Put(Bucket::kMeta, meta_key::kConsistentIndex, std::to_string(main));
    buffer.Put(Bucket::kLease, std::to_string(main % 50), std::to_string(main));
    if (main % 3 != 0 && main != kLast) continue;
    committer.Publish(static_cast<std::uint64_t>(main));
    published.store(main);
    if (main % 600 == 0 && main > kKept) {
      std::vector<Revision> old;
      for (std::int64_t gone = compacted.load() + 1; gone <= main - kKept; ++gone) {
        old.push_back({gone, 0});
      }
      compacted.store(main - kKept);
      committer.PostDeletions(std::move(old), [] {});
    }
    if (buffer.OverLimit()) {
      std::binary_semaphore room(0);
      buffer.WhenRoom([&] { room.release(); });
      room.acquire();
    }
  }
  std::binary_semaphore flushed(0);
  committer.Flush([&] { flushed.release(); });
  flushed.acquire();
  EXPECT_EQ(durable.load(), static_cast<std::uint64_t>(kLast));
  stop.store(true);
  reader1.join();
  reader2.join();
  defragmenter.join();
  executor.Stop();
  copier.Stop();

  EXPECT_GT(found_in_buffer.load(), 0);
  EXPECT_GT(found_in_backend.load(), 0);
  EXPECT_GT(defragmented.load(), 0);
  Content expected;
  for (std::int64_t main = compacted.load() + 1; main <= kLast; ++main) {
    expected[{Bucket::kKey, std::string(RevisionKey({main, 0}).view())}] = value_of(main);
  }
  for (std::int64_t main = kLast - 49; main <= kLast; ++main) {
    expected[{Bucket::kLease, std::to_string(main % 50)}] = std::to_string(main);
  }
  expected[{Bucket::kMeta, std::string(meta_key::kConsistentIndex)}] = std::to_string(kLast);
  EXPECT_EQ(ContentOf(*backend), expected);
  backend.reset();
  EXPECT_EQ(ContentOf(*world.Open().value()), expected);
}

}  // namespace
}  // namespace kvorum::mvcc
