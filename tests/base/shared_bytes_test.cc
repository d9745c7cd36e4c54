#include "base/shared_bytes.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace kvorum {
namespace {

TEST(SharedBytesTest, CopiesShareOneBlock) {
  const SharedBytes bytes = SharedBytes::Copy("hello world");
  const SharedBytes copy(bytes);  // NOLINT(performance-unnecessary-copy-initialization)
  EXPECT_EQ(copy.view(), "hello world");
  EXPECT_EQ(copy.data(), bytes.data());
}

TEST(SharedBytesTest, ASliceKeepsTheBlockAlive) {
  SharedBytes slice;
  {
    const SharedBytes bytes = SharedBytes::Copy("hello world");
    slice = bytes.Slice(6, 5);
  }
  EXPECT_EQ(slice.view(), "world");
  EXPECT_EQ(slice.Slice(1, 3).view(), "orl");
  EXPECT_EQ(slice.Slice(5, 0).view(), "");
}

TEST(SharedBytesTest, OwnTakesTheStringWithoutCopying) {
  std::string text(1000, 'x');
  const char* data = text.data();
  const SharedBytes bytes = SharedBytes::Own(std::move(text));
  EXPECT_EQ(bytes.data(), data);
  EXPECT_EQ(bytes.size(), 1000u);
  // A short string lives within its object, which moves.
  EXPECT_EQ(SharedBytes::Own("short").view(), "short");
}

TEST(SharedBytesTest, AllocateIsFilledByItsCaller) {
  char* data = nullptr;
  const SharedBytes bytes = SharedBytes::Allocate(3, &data);
  data[0] = 'a';
  data[1] = 'b';
  data[2] = 'c';
  EXPECT_EQ(bytes.view(), "abc");
}

TEST(SharedBytesTest, EmptyOnesAreEqualHoweverMade) {
  EXPECT_TRUE(SharedBytes().empty());
  EXPECT_EQ(SharedBytes(), SharedBytes::Copy(""));
  EXPECT_EQ(SharedBytes(), SharedBytes::Own(""));
  EXPECT_EQ(SharedBytes(), SharedBytes::Static(""));
}

TEST(SharedBytesTest, AssignmentToItselfAndMovesLeaveTheBytes) {
  SharedBytes bytes = SharedBytes::Copy("abc");
  const SharedBytes& same = bytes;
  bytes = same;
  EXPECT_EQ(bytes.view(), "abc");
  const SharedBytes moved = std::move(bytes);
  EXPECT_EQ(moved.view(), "abc");
}

TEST(SharedBytesTest, CopiesMayGoToOtherThreads) {
  const SharedBytes bytes = SharedBytes::Copy(std::string(100, 'z'));
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([copy = bytes] {
      for (int n = 0; n < 1000; ++n) {
        const SharedBytes slice = copy.Slice(10, 20);
        ASSERT_EQ(slice.view(), std::string(20, 'z'));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(SharedBytesDeathTest, ASliceOutsideIsABrokenInvariant) {
  const SharedBytes bytes = SharedBytes::Copy("abc");
  EXPECT_DEATH(bytes.Slice(2, 2), "slice outside");
  EXPECT_DEATH(bytes.Slice(4, 0), "slice outside");
}

TEST(ByteChainTest, JoinsItsSlices) {
  const ByteChain chain = {SharedBytes::Copy("ab"), SharedBytes(), SharedBytes::Static("cde")};
  EXPECT_EQ(SizeBytes(chain), 5u);
  EXPECT_EQ(Join(chain), "abcde");
}

}  // namespace
}  // namespace kvorum
