// One bound for the answers of all connections: accounting, refusals and cuts.
#include "base/answer_memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "rpc/io/loop.h"

namespace kvorum::rpc {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::size_t kStep = AnswerMemory::kStepBytes;

// A connection that notes that it was cut.
class Holding final : public AnswerMemory::Holder {
 public:
  Holding(AnswerMemory& memory, Loop& loop, std::string name, std::vector<std::string>& cut)
      : share_(memory, loop, *this), name_(std::move(name)), cut_(cut) {}
  void Set(std::size_t bytes) { share_.Set(bytes); }
  void OnCut(std::size_t) override {
    cut_.push_back(name_);
    Set(0);
  }

 private:
  AnswerMemory::Share share_;
  const std::string name_;
  std::vector<std::string>& cut_;
};

class AnswerMemoryTest : public testing::Test {
 protected:
  AnswerMemoryTest() { loop_.Start(); }
  ~AnswerMemoryTest() override {
    OnLoop([this] { holders_.clear(); });
    loop_.Stop();
  }
  // Runs it on the shares' loop, after tasks posted there.
  void OnLoop(Task task) {
    std::promise<void> done;
    loop_.Post([&] {
      task();
      done.set_value();
    });
    done.get_future().wait();
  }
  Holding& Holder(AnswerMemory& memory, std::string name) {
    holders_.push_back(std::make_unique<Holding>(memory, loop_, std::move(name), cut_));
    return *holders_.back();
  }
  void Set(Holding& holder, std::size_t bytes) {
    OnLoop([&] { holder.Set(bytes); });
  }

  AnswerMemory& Memory(std::size_t limit_bytes, Duration patience = AnswerMemory::kPatience) {
    return memory_.emplace(limit_bytes, patience);
  }

  std::optional<AnswerMemory> memory_;
  Loop loop_{0, "test"};
  std::vector<std::string> cut_;
  std::vector<std::unique_ptr<Holding>> holders_;
};

TEST_F(AnswerMemoryTest, SmallAnswersAreNotCounted) {
  AnswerMemory& memory = Memory(10 * kStep);
  Holding& small = Holder(memory, "small");
  Set(small, kStep - 1);
  EXPECT_EQ(memory.used_bytes(), 0);
  Set(small, 3 * kStep + 1);
  EXPECT_EQ(memory.used_bytes(), 3 * kStep);
  Set(small, 10);
  EXPECT_EQ(memory.used_bytes(), 0);
  EXPECT_EQ(memory.TakePeakBytes(), 3 * kStep);
  EXPECT_EQ(memory.TakePeakBytes(), 0);
}

TEST_F(AnswerMemoryTest, AReservationThatDoesNotFitChangesNothing) {
  AnswerMemory& memory = Memory(1000);
  AnswerMemory::Reservation first(&memory);
  ASSERT_TRUE(first.Grow(600));
  {
    AnswerMemory::Reservation second(&memory);
    EXPECT_FALSE(second.Grow(500));
    EXPECT_TRUE(second.Grow(400));
    EXPECT_FALSE(first.Grow(1));
    AnswerMemory::Reservation moved = std::move(second);
    EXPECT_EQ(moved.bytes(), 400);
    EXPECT_EQ(memory.used_bytes(), 1000);
  }
  EXPECT_EQ(memory.used_bytes(), 600);
  first.Release();
  EXPECT_EQ(memory.used_bytes(), 0);
}

TEST_F(AnswerMemoryTest, AReservationThatTakesAnothersPlaceGivesItsOwnUp) {
  AnswerMemory& memory = Memory(1000);
  AnswerMemory::Reservation first(&memory);
  AnswerMemory::Reservation second(&memory);
  ASSERT_TRUE(first.Grow(600));
  ASSERT_TRUE(second.Grow(300));
  first = std::move(second);
  EXPECT_EQ(first.bytes(), 300);
  EXPECT_EQ(memory.used_bytes(), 300);
  EXPECT_EQ(second.bytes(), 0);  // NOLINT(bugprone-use-after-move)
  AnswerMemory::Reservation& same = first;
  first = std::move(same);
  EXPECT_EQ(first.bytes(), 300);
  EXPECT_EQ(memory.used_bytes(), 300);
}

TEST_F(AnswerMemoryTest, TheLargestThatTakesNothingIsCutAndNoMoreThanNeeded) {
  AnswerMemory& memory = Memory(10 * kStep, Duration::zero());
  Holding& small = Holder(memory, "small");
  Holding& largest = Holder(memory, "largest");
  Holding& middle = Holder(memory, "middle");
  Set(small, 2 * kStep);
  Set(largest, 5 * kStep);
  Set(middle, 3 * kStep);
  OnLoop([] {});
  EXPECT_THAT(cut_, IsEmpty());
  Set(small, 3 * kStep);
  OnLoop([] {});
  EXPECT_THAT(cut_, ElementsAre("largest"));
  EXPECT_EQ(memory.used_bytes(), 6 * kStep);
  EXPECT_EQ(memory.cut_connections(), 1);
}

TEST_F(AnswerMemoryTest, WhoTakesSomethingIsNotCut) {
  AnswerMemory& memory = Memory(10 * kStep, std::chrono::hours(1));
  Holding& one = Holder(memory, "one");
  Holding& other = Holder(memory, "other");
  Set(one, 9 * kStep);
  Set(other, 9 * kStep);
  OnLoop([] {});
  EXPECT_TRUE(memory.full());
  EXPECT_THAT(cut_, IsEmpty());
  AnswerMemory::Reservation late(&memory);
  EXPECT_FALSE(late.Grow(1)) << "it is refused instead";
}

TEST_F(AnswerMemoryTest, AReservationMakesRoomForItself) {
  AnswerMemory& memory = Memory(10 * kStep, Duration::zero());
  Holding& slow = Holder(memory, "slow");
  Set(slow, 8 * kStep);
  AnswerMemory::Reservation late(&memory);
  EXPECT_FALSE(late.Grow(4 * kStep));
  OnLoop([] {});
  EXPECT_THAT(cut_, ElementsAre("slow"));
  EXPECT_TRUE(late.Grow(4 * kStep));
}

}  // namespace
}  // namespace kvorum::rpc
