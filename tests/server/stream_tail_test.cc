// The small bytes of a stream: what they reserve, what they cost while they wait to be sent, and
// that nothing stays behind.
#include "server/services/kv/stream_tail.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace kvorum::server {
namespace {

constexpr std::size_t kNoMemory = 15;  // of a string in itself

StreamTail::Taken Gather(StreamTail& tail, std::size_t size_bytes) {
  for (std::size_t i = 0; i < size_bytes; ++i) tail.Open().push_back(static_cast<char>(i));
  return tail.Take();
}

TEST(StreamTailTest, GivesTheBytesAndKeepsNothingWhateverTheSizes) {
  StreamTail tail;
  EXPECT_TRUE(tail.empty());
  // Some fill what the last one has reserved, some leave most of it empty.
  for (const std::size_t size_bytes :
       std::vector<std::size_t>{1, 4'000, 4'000, 300'000, 10, 200'000, 3'000, 0, 40}) {
    const StreamTail::Taken taken = Gather(tail, size_bytes);
    ASSERT_EQ(taken.bytes.size(), size_bytes);
    for (std::size_t i = 0; i < size_bytes; ++i)
      ASSERT_EQ(taken.bytes.view()[i], static_cast<char>(i));
    EXPECT_TRUE(tail.empty());
    EXPECT_LE(tail.held_bytes(), kNoMemory) << size_bytes;
  }
}

TEST(StreamTailTest, CountsTheMemoryThatTheBytesKeep) {
  StreamTail tail;
  for (std::size_t size_bytes = 16; size_bytes < 100'000; size_bytes += size_bytes / 7) {
    const StreamTail::Taken taken = Gather(tail, size_bytes);
    EXPECT_GE(taken.kept_bytes, size_bytes);
    EXPECT_LE(taken.kept_bytes, size_bytes + size_bytes / 4);
  }
}

TEST(StreamTailTest, ReservesWhatTheLastOneHadUpToABound) {
  StreamTail tail;
  static_cast<void>(Gather(tail, 4'000));
  EXPECT_LE(tail.held_bytes(), kNoMemory);
  EXPECT_EQ(tail.Open().capacity(), 4'000U);
  EXPECT_EQ(Gather(tail, 4'000).kept_bytes, 4'000U);
  static_cast<void>(Gather(tail, 1'000'000));
  EXPECT_EQ(tail.Open().capacity(), StreamTail::kMostReservedBytes);
  tail.Drop();
  EXPECT_LE(tail.held_bytes(), kNoMemory);
}

}  // namespace
}  // namespace kvorum::server
