// A key with one live revision costs its bytes and at most 64, in any order of the keys. All
// memory taken from the system is counted, less one MiB: it is taken by the MiB.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/rng.h"
#include "mvcc/index/key_index.h"
#include "mvcc/index/key_index_builder.h"

namespace kvorum::mvcc {
namespace {

constexpr int kKeys = 60'000;
constexpr double kMostBeyondKey = 64;
constexpr std::size_t kTakenAtATimeBytes = 1024 * 1024;

std::string KeyOfSize(int number, std::size_t size) {
  std::string key(size, 'k');
  for (std::size_t at = size; at > size - 6; number /= 10) {
    key[--at] = static_cast<char>('0' + number % 10);
  }
  return key;
}

std::vector<int> Numbers(bool shuffled) {
  std::vector<int> numbers;
  for (int i = 0; i < kKeys; ++i) numbers.push_back(i);
  Rng rng(1);
  if (shuffled) std::shuffle(numbers.begin(), numbers.end(), rng);
  return numbers;
}

double BytesBeyondKey(KeyIndex& index, std::size_t key_size, int keys) {
  while (index.Reclaim()) {
  }
  const KeyIndex::Stats stats = index.stats();
  const std::size_t bytes = std::max(stats.bytes_in_use, stats.bytes_reserved - kTakenAtATimeBytes);
  return static_cast<double>(bytes) / keys - static_cast<double>(key_size);
}

void Put(KeyIndex& index, const std::vector<int>& numbers, std::size_t key_size,
         std::int64_t revision = 1) {
  for (const int number : numbers) {
    index.Put(KeyOfSize(number, key_size), {++revision, 0});
    if (revision % 64 == 0) index.Publish({.current_revision = revision});
  }
  index.Publish({.current_revision = revision});
}

// Eight sizes in a row: rounding up to blocks is at its best with one and at its worst with
// another.
class KeyIndexMemory : public ::testing::TestWithParam<std::size_t> {};

TEST_P(KeyIndexMemory, HoldsTheBoundForKeysInRandomOrder) {
  KeyIndex index;
  Put(index, Numbers(/*shuffled=*/true), GetParam());
  EXPECT_LT(BytesBeyondKey(index, GetParam(), kKeys), kMostBeyondKey);
}

TEST_P(KeyIndexMemory, HoldsTheBoundForKeysInAscendingOrder) {
  // Eight for the entry, 12.25 for its slot in a full leaf, a quarter of one higher up, and what
  // rounding costs.
  const double rounding = static_cast<double>((8 - GetParam() % 8) % 8);
  const double in_slab = GetParam() < 200 ? 0.5 : 8;
  KeyIndex index;
  Put(index, Numbers(/*shuffled=*/false), GetParam());
  EXPECT_LT(BytesBeyondKey(index, GetParam(), kKeys), 21.5 + rounding + in_slab);
}

TEST_P(KeyIndexMemory, HoldsTheBoundForKeysInDescendingOrder) {
  auto numbers = Numbers(/*shuffled=*/false);
  std::reverse(numbers.begin(), numbers.end());
  KeyIndex index;
  Put(index, numbers, GetParam());
  EXPECT_LT(BytesBeyondKey(index, GetParam(), kKeys), kMostBeyondKey);
}

// Ascending runs that start in between others, as those of many clients do.
TEST_P(KeyIndexMemory, HoldsTheBoundForInterleavedRuns) {
  constexpr int kRuns = 100;
  std::vector<int> numbers;
  for (int i = 0; i < kKeys / kRuns; ++i) {
    for (int run = 0; run < kRuns; ++run) numbers.push_back(run * (kKeys / kRuns) + i);
  }
  KeyIndex index;
  Put(index, numbers, GetParam());
  EXPECT_LT(BytesBeyondKey(index, GetParam(), kKeys), kMostBeyondKey);
}

// Keys that were put twice carry more until they are compacted.
TEST_P(KeyIndexMemory, HoldsTheBoundForContinuedKeysAfterCompaction) {
  KeyIndex index;
  const auto numbers = Numbers(/*shuffled=*/true);
  Put(index, numbers, GetParam());
  Put(index, numbers, GetParam(), kKeys + 1);
  KeyIndex::CompactProgress progress;
  while (!progress.done) index.CompactStep(2 * kKeys + 1, 1000, progress);
  index.Publish({});
  while (index.Reclaim()) {
  }
  EXPECT_LT(
      static_cast<double>(index.stats().bytes_in_use) / kKeys - static_cast<double>(GetParam()),
      kMostBeyondKey);
}

TEST_P(KeyIndexMemory, HoldsTheBoundAfterARestoreAndWhileNewKeysComeIn) {
  const auto numbers = Numbers(/*shuffled=*/true);
  KeyIndexBuilder builder;
  auto& chunk = builder.AddChunk();
  std::int64_t revision = 1;
  for (int i = 0; i < kKeys / 2; ++i) {
    ++revision;
    ASSERT_TRUE(chunk
                    .Add({.key = KeyOfSize(numbers[static_cast<std::size_t>(i)], GetParam()),
                          .revision = {revision, 0},
                          .create_revision = 1,
                          .version = 2})
                    .has_value());
  }
  auto index = builder.Build({});
  ASSERT_TRUE(index.has_value());
  EXPECT_LT(BytesBeyondKey(**index, GetParam(), kKeys / 2), kMostBeyondKey);
  for (int i = kKeys / 2; i < kKeys; ++i) {
    (*index)->Put(KeyOfSize(numbers[static_cast<std::size_t>(i)], GetParam()), {++revision, 0});
    if (revision % 64 == 0) (*index)->Publish({});
    if (i % 5000 == 0) {
      EXPECT_LT(BytesBeyondKey(**index, GetParam(), i), kMostBeyondKey);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(KeySizes, KeyIndexMemory,
                         ::testing::Values(6, 9, 26, 27, 32, 33, 57, 256));

}  // namespace
}  // namespace kvorum::mvcc
