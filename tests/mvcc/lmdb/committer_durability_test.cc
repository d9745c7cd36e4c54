// Durable means durable, over power cuts, and nothing disappears, on real threads over both
// backends.
#include <gtest/gtest.h>

#include <atomic>
#include <semaphore>
#include <thread>
#include <vector>

#include "base/executor.h"
#include "base/rng.h"
#include "tests/manual_clock.h"
#include "tests/mvcc/committer_fixture.h"

namespace kvorum::mvcc {
namespace {

// Everything reported durable is on the disk, for a power cut at any operation.
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
