#include "rpc/session/held_bytes.h"

#include <gtest/gtest.h>

#include <string>

#include "rpc/io/loop.h"

namespace kvorum::rpc {
namespace {

class HeldBytesTest : public testing::Test {
 protected:
  HeldBytesTest() {
    options_.max_buffered_request_bytes = 100;
    options_.max_unsent_bytes = 8 * AnswerMemory::kStepBytes;
  }
  // Other connections take all memory.
  void Fill() { EXPECT_TRUE(others_.Grow(1000)); }

  Options options_;
  AnswerMemory all_{1000};
  AnswerMemory::Reservation others_{&all_};
  HeldBytes held_{options_, all_};
};

TEST_F(HeldBytesTest, RequestsTogetherHaveABound) {
  RequestBody one(1000);
  RequestBody two(1000);
  one.Keep(std::string(60, 'x'));
  two.Keep(std::string(40, 'x'));
  EXPECT_TRUE(held_.Count(one));
  EXPECT_TRUE(held_.Count(two));
  EXPECT_EQ(held_.size(), 100);
  two.Keep("x");
  EXPECT_FALSE(held_.Count(two));
  held_.Forget(one);
  EXPECT_TRUE(held_.Count(two));
  EXPECT_EQ(held_.size(), 41);
}

// Those who hold the memory are cut off after their time; until then others' may not grow at will.
TEST_F(HeldBytesTest, RequestsDoNotGrowWhenTheMemoryOfAllIsExhausted) {
  constexpr std::size_t kStep = AnswerMemory::kStepBytes;
  Options options;
  AnswerMemory all(2 * kStep, std::chrono::hours(1));
  HeldBytes held(options, all);
  RequestBody large(8 * kStep);
  large.Keep(std::string(2 * kStep, 'x'));
  EXPECT_TRUE(held.Count(large));
  AnswerMemory::Reservation others(&all);
  ASSERT_TRUE(others.Grow(2 * kStep));
  EXPECT_TRUE(all.full());
  EXPECT_FALSE(all.exhausted());
  large.Keep("x");
  EXPECT_TRUE(held.Count(large));

  struct Connection final : AnswerMemory::Holder {
    void OnCut(std::size_t) override {}
  } connection;
  Loop loop(0, "io");
  AnswerMemory::Share share(all, loop, connection);
  share.Set(2 * kStep);
  EXPECT_TRUE(all.exhausted());
  EXPECT_TRUE(held.Count(large)) << "it has not grown";
  large.Keep("x");
  EXPECT_FALSE(held.Count(large));
  HeldBytes other(options, all);
  RequestBody small(8 * kStep);
  small.Keep(std::string(kStep / 2, 'x'));
  EXPECT_TRUE(other.Count(small));
  share.Set(0);
  EXPECT_TRUE(held.Count(large));
}

TEST_F(HeldBytesTest, UnsentAnswersDelayFurtherRequests) {
  held_.AddUnsent(8 * AnswerMemory::kStepBytes);
  EXPECT_TRUE(held_.MayStart());
  EXPECT_FALSE(held_.MayResume());
  EXPECT_FALSE(held_.stalls_input());
  held_.AddUnsent(1);
  EXPECT_FALSE(held_.MayStart());
  EXPECT_TRUE(held_.stalls_input());
  held_.SubtractUnsent(4 * AnswerMemory::kStepBytes + 1);
  EXPECT_TRUE(held_.MayResume());
}

TEST_F(HeldBytesTest, OnlyAConnectionThatHoldsLittleGoesOnWhenAllIsFull) {
  Fill();
  held_.AddUnsent(AnswerMemory::kStepBytes - 1);
  EXPECT_FALSE(held_.unsent_counts());
  EXPECT_TRUE(held_.MayStart());
  held_.AddUnsent(1);
  EXPECT_TRUE(held_.unsent_counts());
  EXPECT_FALSE(held_.MayStart());
  others_.Release();
  EXPECT_TRUE(held_.MayStart());
}

TEST_F(HeldBytesTest, WhenAllIsFullAConnectionGetsAMebibyteAndSmallAnswers) {
  held_.AddUnsent(1024 * 1024 + 1);
  EXPECT_TRUE(held_.HasRoomFor(1'000'000));
  Fill();
  EXPECT_FALSE(held_.HasRoomFor(4097));
  EXPECT_TRUE(held_.HasRoomFor(4096));
  held_.SubtractUnsent(1);
  EXPECT_TRUE(held_.HasRoomFor(4097));
}

}  // namespace
}  // namespace kvorum::rpc
