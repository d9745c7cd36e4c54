#include "rpc/call/pieced_answer.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

namespace kvorum::rpc {
namespace {

class Maker final : public AnswerRest {
 public:
  void MakeNext(Taker taker) override {
    ++asked;
    taker_ = std::move(taker);
  }
  void Make(Result<AnswerPiece> piece) { taker_(std::move(piece)); }
  int asked = 0;

 private:
  Taker taker_;
};

AnswerPiece Piece(std::size_t size_bytes) {
  return {.bytes = {SharedBytes::Own(std::string(size_bytes, 'p'))}, .held = {}};
}

class PiecedAnswerTest : public testing::Test {
 protected:
  // Asks for a piece, and gets it.
  Result<AnswerPiece> Next(Result<AnswerPiece> piece) {
    EXPECT_TRUE(answer_.WantsMore(0));
    answer_.Ask([this](Result<AnswerPiece> made) { answer_.Put(std::move(made)); });
    EXPECT_FALSE(answer_.WantsMore(0)) << "one at a time";
    maker_->Make(std::move(piece));
    return answer_.Accept(answer_.TakePut());
  }

  std::shared_ptr<Maker> maker_ = std::make_shared<Maker>();
  std::weak_ptr<Maker> seen_ = maker_;
  AnswerMemory memory_{1000};
  PiecedAnswer answer_{maker_, 100, AnswerMemory::Reservation(&memory_)};
};

TEST_F(PiecedAnswerTest, AsksUntilAllIsMade) {
  EXPECT_EQ(answer_.to_come_bytes(), 100);
  EXPECT_TRUE(Next(Piece(60)));
  EXPECT_EQ(answer_.to_come_bytes(), 40);
  EXPECT_TRUE(Next(Piece(40)));
  EXPECT_EQ(answer_.to_come_bytes(), 0);
  EXPECT_FALSE(answer_.WantsMore(0));
  EXPECT_EQ(maker_->asked, 2);
  maker_.reset();
  EXPECT_TRUE(seen_.expired()) << "the maker is dropped at the end";
}

TEST_F(PiecedAnswerTest, WaitsWhileTheClientHasEnoughToRead) {
  EXPECT_TRUE(answer_.WantsMore(256 * 1024 - 1));
  EXPECT_FALSE(answer_.WantsMore(256 * 1024));
}

TEST_F(PiecedAnswerTest, APieceThatDoesNotFitIsAnError) {
  EXPECT_EQ(Next(AnswerPiece()).error().message, "a piece of another answer");
  EXPECT_EQ(Next(Piece(101)).error().message, "a piece of another answer");
  EXPECT_EQ(Next(Fail(Code::kUnavailable, "gone")).error().message, "gone");
  EXPECT_EQ(answer_.to_come_bytes(), 100);
}

TEST_F(PiecedAnswerTest, OneThatIsBrokenOffAsksForNothingMore) {
  answer_.BreakOff();
  EXPECT_FALSE(answer_.WantsMore(0));
  maker_.reset();
  EXPECT_TRUE(seen_.expired());
}

TEST_F(PiecedAnswerTest, ItsStartIsHeldUntilTheConnectionCountsIt) {
  AnswerMemory::Reservation start(&memory_);
  ASSERT_TRUE(start.Grow(70));
  PiecedAnswer answer(maker_, 1, std::move(start));
  EXPECT_EQ(memory_.used_bytes(), 70);
  answer.ReleaseStart();
  EXPECT_EQ(memory_.used_bytes(), 0);
  EXPECT_FALSE(answer.Begin());
  EXPECT_TRUE(answer.Begin());
}

}  // namespace
}  // namespace kvorum::rpc
