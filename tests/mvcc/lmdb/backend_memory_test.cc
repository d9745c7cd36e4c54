// The in-memory twin on a disk that fails, at every write and sync. The contract itself is in
// backend_test.cc.
//
// Fault model (tests/disk/sim_file_system.h): a power cut keeps nothing, everything or a random
// part of the unsynced data, or garbage in its place. Batches for which Commit returned ok are
// there afterwards; of the commit that was cut off everything or nothing. A flipped byte or a
// cut-off end is not a power cut: it is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "mvcc/lmdb/backend.h"
#include "tests/mvcc/backend_worlds.h"

namespace kvorum::mvcc {
namespace {

using ::testing::HasSubstr;

// The n-th batch of a fixed history.
void BuildBatch(int n, OwnedBatch& batch) {
  Rng rng(static_cast<std::uint64_t>(n));
  const std::int64_t main = 2 + n;
  batch.Append({main, 0}, std::string(rng.Below(1500), static_cast<char>('a' + n)));
  if (n % 2 == 0) batch.Append({main, 1}, "second", true);
  if (n > 2) batch.Delete({main - 2, 0});
  batch.Put(Bucket::kMeta, meta_key::kConsistentIndex, std::to_string(10'000'000 + n));
  if (n % 3 == 0) batch.Remove(Bucket::kMeta, "toggle");
  if (n % 3 == 1) batch.Put(Bucket::kMeta, "toggle", "on");
}

constexpr int kBatches = 8;
constexpr int kDefragmentAfter = 4;

// states[n]: after n batches.
std::vector<Content> States() {
  std::vector<Content> states(1);
  for (int n = 0; n < kBatches; ++n) {
    OwnedBatch batch;
    BuildBatch(n, batch);
    states.push_back(states.back());
    ApplyTo(states.back(), batch.batch());
  }
  return states;
}

// Opens what holds `committed` batches, or one more that was cut off, and commits the rest until
// something fails. How many are committed.
int RunHistory(MemoryWorld& world, int committed) {
  auto backend = world.Open();
  if (!backend.has_value()) return committed;
  static const std::vector<Content> states = States();
  const Content content = ContentOf(**backend);
  if (committed < kBatches && content == states[static_cast<std::size_t>(committed) + 1]) {
    ++committed;
  } else {
    EXPECT_EQ(content, states[static_cast<std::size_t>(committed)]);
  }
  for (; committed < kBatches; ++committed) {
    OwnedBatch batch;
    BuildBatch(committed, batch);
    if (!(*backend)->Commit(batch.batch()).has_value()) return committed;
    if (committed == kDefragmentAfter && !Defragment(**backend).has_value()) return committed + 1;
  }
  return committed;
}

TEST(MemoryBackendCrash, APowerCutAtAnyWriteKeepsWhatWasCommitted) {
  const std::vector<Content> states = States();
  std::uint64_t operations = 0;
  {
    MemoryWorld world;
    const std::uint64_t before = world.files.operations();
    ASSERT_EQ(RunHistory(world, 0), kBatches);
    operations = world.files.operations() - before;
  }
  ASSERT_GT(operations, 4u * kBatches);
  std::uint64_t lost = 0;
  int cut_off_commits_kept = 0;
  for (std::uint64_t at = 1; at <= operations; ++at) {
    for (const SimFileSystem::Keep keep : SimFileSystem::kAllKeeps) {
      for (std::uint64_t seed = 0; seed < 6; ++seed) {
        SCOPED_TRACE("operation " + std::to_string(at) + " keep " +
                     std::to_string(static_cast<int>(keep)) + " seed " + std::to_string(seed));
        MemoryWorld world;
        Rng rng(at * 100 + seed);
        world.files.PowerOffAt(at);
        int committed = RunHistory(world, 0);
        world.files.Crash(keep, rng);
        // Recovery is cut off too, anywhere.
        if (seed % 2 == 1) {
          world.files.PowerOffAt(1 + rng.Below(6));
          static_cast<void>(world.Open());
          world.files.ClearFaults();  // if recovery had fewer writes
          world.files.Crash(keep, rng);
        }
        {
          const auto backend = world.Open();
          ASSERT_TRUE(backend.has_value()) << backend.error().message;
          const Content content = ContentOf(**backend);
          if (committed < kBatches && content == states[static_cast<std::size_t>(committed) + 1]) {
            ++committed;
            ++cut_off_commits_kept;
          }
          ASSERT_EQ(content, states[static_cast<std::size_t>(committed)]);
        }
        // And it goes on from there.
        ASSERT_EQ(RunHistory(world, committed), kBatches);
        ASSERT_EQ(ContentOf(*world.Open().value()), states.back());
        lost += world.files.counters().sectors_lost + world.files.counters().sizes_lost;
      }
    }
  }
  EXPECT_GT(cut_off_commits_kept, 10) << "both outcomes were met";
  EXPECT_GT(lost, 100u) << "and the disk lost something";
}

TEST(MemoryBackendCrash, APowerCutKeepsWhatWasSyncedByHandAndAllCommitsAfterThat) {
  const std::vector<Content> states = States();
  for (int synced = 1; synced < kBatches; ++synced) {
    MemoryWorld world;
    Rng rng(static_cast<std::uint64_t>(synced));
    {
      auto backend = world.Open(CommitSync::kByHand).value();
      const std::uint64_t before = world.files.operations();
      for (int i = 0; i < synced; ++i) {
        OwnedBatch batch;
        BuildBatch(i, batch);
        Commit(*backend, batch);
      }
      EXPECT_EQ(world.files.operations() - before, static_cast<std::uint64_t>(synced))
          << "a write each, and no sync";
      ASSERT_TRUE(backend->Sync().has_value());
      OwnedBatch batch;
      BuildBatch(synced, batch);
      Commit(*backend, batch);
    }
    world.files.Crash(SimFileSystem::Keep::kNothing, rng);
    ASSERT_EQ(ContentOf(*world.Open().value()), states[static_cast<std::size_t>(synced) + 1]);
  }
}

// The next start reads data that the killed process wrote and the disk does not have yet. It must
// make it durable before it relies on it.
TEST(MemoryBackendCrash, APowerCutDuringTheStartAfterAKillKeepsWhatWasCommitted) {
  struct Killed {};
  const std::vector<Content> states = States();
  for (std::uint64_t kill_at = 1; kill_at <= 45; ++kill_at) {
    for (std::uint64_t cut_at = 1; cut_at <= 12; ++cut_at) {
      for (std::uint64_t seed = 0; seed < 4; ++seed) {
        SCOPED_TRACE(std::to_string(kill_at) + ", " + std::to_string(cut_at));
        MemoryWorld world;
        Rng rng(seed);
        int committed = 0;
        {
          auto backend = world.Open().value();
          std::uint64_t operations = 0;
          world.files.SetObserver([&] {
            if (++operations == kill_at) throw Killed();
          });
          try {
            while (committed < kBatches) {
              OwnedBatch batch;
              BuildBatch(committed, batch);
              ASSERT_TRUE(backend->Commit(batch.batch()).has_value());
              ++committed;
              if (committed == kDefragmentAfter) {
                ASSERT_TRUE(Defragment(*backend).has_value());
              }
            }
          } catch (const Killed&) {
          }
          world.files.SetObserver({});
          world.files.Kill();
        }
        world.files.PowerOffAt(cut_at);
        committed = RunHistory(world, committed);
        world.files.ClearFaults();
        world.files.Crash(
            seed % 2 == 0 ? SimFileSystem::Keep::kRandom : SimFileSystem::Keep::kNothing, rng);
        ASSERT_EQ(RunHistory(world, committed), kBatches);
        ASSERT_EQ(ContentOf(*world.Open().value()), states.back());
      }
    }
  }
}

// Except a frame for which the disk has no room: that commit may be retried.
TEST(MemoryBackendCrash, AFailedWriteOrSyncIsFinal) {
  const std::vector<Content> states = States();
  for (std::uint64_t at = 1; at <= 40; ++at) {
    for (const auto fault : {SimFileSystem::Fault::kIoError, SimFileSystem::Fault::kNoSpace}) {
      SCOPED_TRACE(at);
      MemoryWorld world;
      Rng rng(at);
      {
        auto backend = world.Open().value();
        world.files.FailAt(at, fault);
        int committed = 0;
        Result<void> done;
        while (done.has_value() && committed < kBatches) {
          OwnedBatch batch;
          BuildBatch(committed, batch);
          done = backend->Commit(batch.batch());
          if (done.has_value()) ++committed;
        }
        if (!done.has_value()) {
          const bool is_frame = at % 4 == 1;
          if (fault == SimFileSystem::Fault::kNoSpace && is_frame) {
            EXPECT_EQ(done.error().code, Code::kResourceExhausted);
            EXPECT_EQ(ContentOf(*backend), states[static_cast<std::size_t>(committed)]);
            OwnedBatch again;
            BuildBatch(committed, again);
            EXPECT_TRUE(backend->Commit(again.batch()).has_value());
            ++committed;
          } else {
            EXPECT_EQ(done.error().code, Code::kDataLoss);
            EXPECT_EQ(backend->Commit(OwnedBatch().Append({99, 0}, "").batch()).error(),
                      done.error())
                << "every later commit is refused";
          }
          EXPECT_EQ(ContentOf(*backend), states[static_cast<std::size_t>(committed)]);
        }
        world.files.ClearFaults();
        world.files.Crash(SimFileSystem::Keep::kRandom, rng);
        backend.reset();
        const Content after = ContentOf(*world.Open().value());
        const auto n = static_cast<std::size_t>(committed);
        EXPECT_TRUE(after == states[n] || (n < kBatches && after == states[n + 1]));
      }
    }
  }
}

class MemoryBackendDamage : public ::testing::Test {
 protected:
  MemoryBackendDamage() {
    EXPECT_EQ(RunHistory(world_, 0), kBatches);
    file_ = ReadWholeFile(world_.files, world_.path, 1 << 20).value();
  }
  static Result<Content> OpenWith(const std::string& file) {
    MemoryWorld world;
    EXPECT_TRUE(WriteFileAtomically(world.files, world.path, file).has_value());
    KV_TRY(const auto backend, world.Open());
    return ContentOf(*backend);
  }

  MemoryWorld world_;
  std::string file_;
};

TEST_F(MemoryBackendDamage, AFlippedByteIsRefusedOrDoesNoHarm) {
  const Content content = States().back();
  int refused = 0;
  for (std::size_t at = 0; at < file_.size(); at += at < 1100 ? 1 : 3) {
    std::string flipped = file_;
    flipped[at] = static_cast<char>(flipped[at] ^ (1 << (at % 8)));
    const Result<Content> opened = OpenWith(flipped);
    if (opened.has_value()) {
      ASSERT_EQ(*opened, content) << at;
    } else {
      ++refused;
      ASSERT_EQ(opened.error().code, Code::kDataLoss);
      ASSERT_THAT(opened.error().message, HasSubstr("/data/db"));
    }
  }
  EXPECT_GT(refused, 500);
}

TEST_F(MemoryBackendDamage, AFileThatIsTooShortIsRefused) {
  for (std::size_t length = 0; length < file_.size(); length += length % 97 == 0 ? 1 : 7) {
    const Result<Content> opened = OpenWith(file_.substr(0, length));
    ASSERT_FALSE(opened.has_value()) << length;
    ASSERT_EQ(opened.error().code, Code::kDataLoss);
  }
}

TEST_F(MemoryBackendDamage, WhatLiesBehindTheLogIsCutOff) {
  EXPECT_EQ(OpenWith(file_ + "leftover of a commit").value(), States().back());
}

}  // namespace
}  // namespace kvorum::mvcc
