// One writer that puts, deletes, compacts and publishes, and readers that compare each state they
// get with the expected one at its revision. Meant for the thread sanitizer.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/rng.h"
#include "mvcc/index/key_index.h"
#include "tests/mvcc/store_requests.h"

namespace kvorum::mvcc {
namespace {

constexpr std::int64_t kKeysPerRound = 300;
constexpr std::int64_t kLastRevision = 30'000;

// The change of revision r concerns key (r - 2) % kKeysPerRound: in even rounds it is put, in odd
// ones deleted. So the content at a revision follows from its number.
std::int64_t RoundOf(std::int64_t revision) { return (revision - 2) / kKeysPerRound; }
std::int64_t KeyNumberOf(std::int64_t revision) { return (revision - 2) % kKeysPerRound; }
std::int64_t LiveAt(std::int64_t revision) {
  if (revision < 2) return 0;
  const std::int64_t changed = KeyNumberOf(revision) + 1;
  return RoundOf(revision) % 2 == 0 ? changed : kKeysPerRound - changed;
}
std::string LeaseKeyOf(std::int64_t number) {
  return "/registry/leases/" + std::to_string(1000 + number);
}

void CheckState(const IndexSnapshot& snapshot, Rng& rng) {
  const std::int64_t current = snapshot.mark().current_revision;
  const std::int64_t compact = snapshot.mark().compact_revision;
  const std::int64_t floor = std::max<std::int64_t>(compact, 1);
  const std::int64_t at =
      floor + static_cast<std::int64_t>(rng.Below(static_cast<std::uint64_t>(current - floor + 1)));
  ASSERT_EQ(snapshot->Count(KeyRange("", kOpenEnd), at), LiveAt(at));
  ASSERT_EQ(snapshot->Count(KeyRange("", kOpenEnd), 0), LiveAt(current));
  std::int64_t seen = 0;
  snapshot->Visit(KeyRange("", kOpenEnd), at, [&](const IndexItem& item) {
    EXPECT_LE(item.modified.main, at);
    EXPECT_EQ(item.key, LeaseKeyOf(KeyNumberOf(item.modified.main)));
    EXPECT_EQ(item.created, item.modified.main);
    EXPECT_EQ(item.version, 1);
    ++seen;
    return true;
  });
  ASSERT_EQ(seen, LiveAt(at));
}

TEST(KeyIndexThreads, EveryStateIsWholeWhileTheWriterGoesOn) {
  KeyIndex index;
  std::atomic<bool> done{false};
  const auto read = [&](std::uint64_t seed) {
    Rng rng(seed);
    std::vector<IndexSnapshot> held;
    while (!done.load(std::memory_order_relaxed)) {
      if (held.size() < 1 + rng.Below(20)) {
        held.push_back(index.Snapshot());
      } else {
        held.erase(held.begin() + static_cast<std::ptrdiff_t>(rng.Below(held.size())));
      }
      if (!held.empty()) CheckState(held[rng.Below(held.size())], rng);
    }
  };
  std::thread first(read, 1);
  std::thread second(read, 2);

  Rng rng(3);
  std::int64_t compact = -1;
  KeyIndex::CompactProgress progress;
  progress.done = true;
  for (std::int64_t revision = 2; revision <= kLastRevision; ++revision) {
    if (RoundOf(revision) % 2 == 0) {
      index.Put(LeaseKeyOf(KeyNumberOf(revision)), {revision, 0});
    } else {
      index.Tombstone(LeaseKeyOf(KeyNumberOf(revision)), {revision, 0});
    }
    if (!rng.OneIn(5)) continue;
    if (!progress.done) {
      index.CompactStep(compact, 50, progress);
    } else if (rng.OneIn(20) && revision > 600) {
      compact = std::max(compact, revision - static_cast<std::int64_t>(rng.Below(600)));
      progress = {};
    }
    index.Publish({.current_revision = revision, .compact_revision = compact});
    if (rng.OneIn(10)) index.Reclaim(rng.Below(100));
  }
  done.store(true);
  first.join();
  second.join();
  index.CheckInvariants();
  index.Publish({});
  while (index.Reclaim()) {
  }
  EXPECT_EQ(index.stats().retired_objects, 0U);
  EXPECT_EQ(index.stats().snapshots_seen, 1U);
}

// Snapshots are taken and given back on different threads.
TEST(KeyIndexThreads, ASnapshotMayGoFromThreadToThread) {
  KeyIndex index;
  for (std::int64_t revision = 2; revision < 200; ++revision) {
    index.Put(LeaseKeyOf(revision), {revision, 0});
    index.Publish({.current_revision = revision});
    std::thread([snapshot = index.Snapshot(), revision] {
      EXPECT_EQ(snapshot->Count(KeyRange("", kOpenEnd), 0), revision - 1);
    }).join();
  }
  index.Publish({});
  EXPECT_EQ(index.stats().snapshots_seen, 1U);
}

}  // namespace
}  // namespace kvorum::mvcc
