// Answers of KV that are too large to be held: made in pieces, at one revision, within a bound.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "proto/rpc.pb.h"
#include "tests/server/auth/method_paths.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kAllKeys{"\0", 1};
constexpr std::size_t kRows = 60;
constexpr std::size_t kValueBytes = 1000;

// A client that takes a large answer piece by piece.
class Taken final : public rpc::UnarySink {
 public:
  void Complete(Error status, SharedBytes first, ByteChain rest) override {
    outcome = std::move(status);
    bytes = std::string(first.view()) + Join(rest);
  }
  void CompleteLarge(rpc::LargeAnswer large) override {
    outcome = Error{Code::kOk, ""};
    bytes = Join(large.begun.bytes);
    begun_bytes = bytes.size();
    rest = std::move(large.rest);
    to_come = large.rest_bytes;
  }

  std::optional<Error> outcome;
  std::string bytes;
  std::size_t begun_bytes = 0;
  std::shared_ptr<rpc::AnswerRest> rest;
  std::size_t to_come = 0;
};

class LargeAnswersTest : public testing::Test {
 protected:
  LargeAnswersTest() {
    EXPECT_TRUE(served_.Start().has_value());
    for (std::size_t i = 0; i < kRows; ++i)
      Put("k" + std::to_string(100 + i), std::string(kValueBytes + i, 'v'));
    limits() = {.max_bytes = 1 << 20, .loop_bytes = 4000, .keep_bytes = 5000, .piece_bytes = 7000};
  }
  AnswerLimits& limits() { return served_.limits().answers; }
  void Put(std::string_view key, std::string_view value) {
    ASSERT_TRUE(served_.Call(kPutPath, PutBody(key, value)).has_value());
  }
  void Compact(std::int64_t revision) {
    ASSERT_TRUE(served_.Call("/etcdserverpb.KV/Compact", CompactBody(revision)).has_value());
  }

  std::shared_ptr<Taken> Ask(std::string_view path, std::string_view request) {
    auto sink = std::make_shared<Taken>();
    served_.router().Find(path)->unary(std::make_shared<rpc::CallContext>(),
                                       SharedBytes::Copy(request), rpc::UnaryReply(sink));
    EXPECT_TRUE(served_.lanes().RunUntil([&] { return sink->outcome.has_value(); }));
    return sink;
  }
  // The next piece.
  Result<std::size_t> Take(Taken& answer) {
    std::optional<Result<rpc::AnswerPiece>> made;
    answer.rest->MakeNext([&](Result<rpc::AnswerPiece> piece) { made = std::move(piece); });
    EXPECT_TRUE(served_.lanes().RunUntil([&] { return made.has_value(); }));
    if (!made->has_value()) return std::unexpected((*made).error());
    const std::string bytes = Join((*made)->bytes);
    EXPECT_LE(bytes.size(), answer.to_come);
    answer.to_come -= bytes.size();
    answer.bytes += bytes;
    return bytes.size();
  }
  std::string TakeAll(Taken& answer) {
    return TakeAll(answer, limits().piece_bytes + kValueBytes + 200);
  }
  std::string TakeAll(Taken& answer, std::size_t most_at_a_time) {
    while (answer.to_come > 0) {
      const auto taken = Take(answer);
      if (!taken.has_value()) return taken.error().message;
      EXPECT_LE(*taken, most_at_a_time);
    }
    return answer.bytes;
  }
  // The answer if it may be held as a whole.
  std::string Whole(std::string_view path, std::string_view request) {
    const AnswerLimits before = std::exchange(limits(), AnswerLimits{});
    const auto answer = served_.Call(path, request);
    limits() = before;
    return answer.has_value() ? *answer : answer.error().message;
  }
  void ExpectInPieces(std::string_view path, const std::string& request) {
    const auto answer = Ask(path, request);
    EXPECT_EQ(answer->outcome->message, "");
    EXPECT_GT(answer->to_come, 2 * limits().piece_bytes);
    EXPECT_LE(answer->begun_bytes, limits().keep_bytes + 200);
    EXPECT_EQ(TakeAll(*answer), Whole(path, request));
  }

  ServedMember served_;
};

TEST_F(LargeAnswersTest, ARangeInPiecesIsTheSameRange) {
  ExpectInPieces(kRangePath, RangeBody({.key = kAllKeys, .range_end = kAllKeys}));
  ExpectInPieces(kRangePath, RangeBody({.key = "k1", .range_end = "k2", .sort_order = 1}));
  ExpectInPieces(kRangePath, RangeBody({.key = kAllKeys, .range_end = kAllKeys, .sort_order = 2}));
  ExpectInPieces(kRangePath, RangeBody({.key = kAllKeys, .range_end = kAllKeys, .limit = 40}));
  ExpectInPieces(kRangePath,
                 RangeBody({.key = kAllKeys, .range_end = kAllKeys, .limit = 33, .sort_order = 2}));
  ExpectInPieces(kRangePath,
                 RangeBody({.key = kAllKeys, .range_end = kAllKeys, .min_mod_revision = 20}));
  ExpectInPieces(kRangePath, RangeBody({.key = kAllKeys, .range_end = kAllKeys, .revision = 45}));
  ExpectInPieces(kRangePath,
                 RangeBody({.key = kAllKeys, .range_end = kAllKeys, .serializable = true}));
}

TEST_F(LargeAnswersTest, KeysAloneInPiecesAreTheSameKeys) {
  limits() = {.max_bytes = 1 << 20, .loop_bytes = 100, .keep_bytes = 200, .piece_bytes = 150};
  std::string request = RangeBody({.key = kAllKeys, .range_end = kAllKeys});
  wire::AppendBool(request, 8, true);
  const auto answer = Ask(kRangePath, request);
  EXPECT_GT(answer->to_come, 300);
  EXPECT_EQ(TakeAll(*answer), Whole(kRangePath, request));
}

TEST_F(LargeAnswersTest, ATxnInPiecesIsTheSameTxn) {
  const std::string all = OpBody(1, RangeBody({.key = kAllKeys, .range_end = kAllKeys}));
  const std::string one = OpBody(1, RangeBody({.key = "k105"}));
  const std::string none = OpBody(1, RangeBody({.key = "nothing"}));
  const std::string back =
      OpBody(1, RangeBody({.key = kAllKeys, .range_end = kAllKeys, .limit = 20, .sort_order = 2}));
  const std::string sorted = OpBody(
      1, RangeBody({.key = kAllKeys, .range_end = kAllKeys, .sort_order = 2, .sort_target = 4}));
  ExpectInPieces(kTxnPath, TxnBody({one, all, none, back, one, all}));
  ExpectInPieces(kTxnPath, TxnBody({all, all}));
  // A sorted range is kept, wherever it stands, and goes out as it was kept.
  const std::string mixed = TxnBody({all, sorted, one, back});
  EXPECT_EQ(TakeAll(*Ask(kTxnPath, mixed), 256 * 1024), Whole(kTxnPath, mixed));
  // A refusal comes before anything else.
  const std::string future =
      OpBody(1, RangeBody({.key = kAllKeys, .range_end = kAllKeys, .revision = 1000}));
  EXPECT_EQ(Ask(kTxnPath, TxnBody({all, future}))->outcome->message, kErrFutureRev.message);
}

TEST_F(LargeAnswersTest, WritesBetweenThePiecesDoNotShow) {
  const std::string request = RangeBody({.key = kAllKeys, .range_end = kAllKeys});
  const std::string before = Whole(kRangePath, request);
  const auto answer = Ask(kRangePath, request);
  for (int i = 0; answer->to_come > 0; ++i) {
    ASSERT_TRUE(Take(*answer).has_value());
    Put("k" + std::to_string(159 - i), "changed");
    ASSERT_TRUE(
        served_.Call("/etcdserverpb.KV/DeleteRange", DeleteBody("k" + std::to_string(150 - i)))
            .has_value());
    Put("k" + std::to_string(150 - i) + "new", "new");
  }
  EXPECT_EQ(answer->bytes, before);
}

TEST_F(LargeAnswersTest, ACompactionBetweenThePiecesBreaksTheAnswerOff) {
  const auto answer = Ask(kRangePath, RangeBody({.key = kAllKeys, .range_end = kAllKeys}));
  ASSERT_TRUE(Take(*answer).has_value());
  Put("more", "more");
  Compact(static_cast<std::int64_t>(kRows) + 2);
  const auto next = Take(*answer);
  ASSERT_FALSE(next.has_value());
  EXPECT_EQ(next.error().message, kErrCompacted.message);
}

TEST_F(LargeAnswersTest, ACompactionUpToTheRevisionLeavesTheAnswerWhole) {
  const std::string request = RangeBody({.key = kAllKeys, .range_end = kAllKeys});
  const std::string before = Whole(kRangePath, request);
  const auto answer = Ask(kRangePath, request);
  Put("k100", "changed");
  Compact(static_cast<std::int64_t>(kRows) + 1);
  EXPECT_EQ(TakeAll(*answer), before);
}

TEST_F(LargeAnswersTest, OneAboveTheBoundIsRefused) {
  limits().max_bytes = 40'000;
  const auto refused = [](std::string_view text) {
    return text.starts_with("grpc: trying to send message larger than max (4") &&
           text.ends_with(" vs. 40000)");
  };
  const std::string range = RangeBody({.key = kAllKeys, .range_end = kAllKeys});
  const auto answer = Ask(kRangePath, range);
  EXPECT_EQ(answer->outcome->code, Code::kResourceExhausted);
  EXPECT_TRUE(refused(answer->outcome->message)) << answer->outcome->message;
  // The sum over all operations counts.
  const std::string third =
      OpBody(1, RangeBody({.key = kAllKeys, .range_end = kAllKeys, .limit = 16}));
  EXPECT_EQ(Ask(kTxnPath, TxnBody({third, third}))->outcome->code, Code::kOk);
  const auto sum = Ask(kTxnPath, TxnBody({third, third, third}));
  EXPECT_EQ(sum->outcome->code, Code::kResourceExhausted);
  EXPECT_TRUE(refused(sum->outcome->message)) << sum->outcome->message;
}

// A test of bytes: there are few rows.
TEST_F(LargeAnswersTest, FewLargeRowsLeaveTheLoop) {
  const std::string few =
      RangeBody({.key = kAllKeys, .range_end = kAllKeys, .limit = 5, .serializable = true});
  const auto large = served_.Send(kRangePath, few);
  EXPECT_EQ(large->times, 0) << "it waits for the readers";
  const auto txn = served_.Send(kTxnPath, TxnBody({OpBody(1, few)}));
  EXPECT_EQ(txn->times, 0);
  const auto small = served_.Send(
      kRangePath,
      RangeBody({.key = kAllKeys, .range_end = kAllKeys, .limit = 3, .serializable = true}));
  EXPECT_EQ(small->times, 1) << "it is served at once";
  EXPECT_EQ(served_.Await(*large), Whole(kRangePath, few));
  EXPECT_EQ(served_.Await(*txn), Whole(kTxnPath, TxnBody({OpBody(1, few)})));
}

TEST_F(LargeAnswersTest, APageDoesNotWaitBehindLargeReads) {
  limits() = {};
  for (int i = 0; i < 100; ++i) Put("page" + std::to_string(i), "v");
  Scheduler::Lane pages(served_.lanes().scheduler());
  served_.executors().pages = {&pages};
  served_.lanes().Hold(served_.lanes().readers(), true);
  const auto large = served_.Send(
      kRangePath,
      RangeBody({.key = kAllKeys, .range_end = kAllKeys, .sort_order = 1, .sort_target = 4}));
  const auto page = served_.Send(
      kRangePath,
      RangeBody({.key = kAllKeys, .range_end = kAllKeys, .limit = 150, .serializable = true}));
  EXPECT_EQ(page->times, 0) << "not on the loop either";
  etcdserverpb::RangeResponse response;
  EXPECT_TRUE(response.ParseFromString(*served_.Await(*page)));
  EXPECT_EQ(response.kvs_size(), 150);
  EXPECT_EQ(large->times, 0);
  served_.lanes().Hold(served_.lanes().readers(), false);
  EXPECT_TRUE(served_.Await(*large).has_value());
  served_.executors().pages.clear();
}

class FullMemoryTest : public LargeAnswersTest {
 protected:
  static constexpr std::size_t kLimitBytes = 50'000;
  ~FullMemoryTest() override { EXPECT_EQ(memory_.used_bytes(), 0); }

  AnswerMemory& memory_ = served_.LimitAnswers(kLimitBytes);
};

TEST_F(FullMemoryTest, APieceWaitsForRoom) {
  const std::string request = RangeBody({.key = kAllKeys, .range_end = kAllKeys});
  const auto answer = Ask(kRangePath, request);
  AnswerMemory::Reservation others(&memory_);
  ASSERT_TRUE(others.Grow(kLimitBytes));
  std::vector<Result<rpc::AnswerPiece>> made;
  answer->rest->MakeNext([&](Result<rpc::AnswerPiece> piece) { made.push_back(std::move(piece)); });
  served_.lanes().RunFor(limits().piece_wait / 2);
  EXPECT_THAT(made, testing::IsEmpty());
  others.Release();
  EXPECT_TRUE(served_.lanes().RunUntil([&] { return !made.empty(); }));
  ASSERT_TRUE(made.front().has_value());
  EXPECT_EQ(memory_.used_bytes(), limits().piece_bytes) << "until the connection counts it";
  made.clear();
}

TEST_F(FullMemoryTest, WhoWaitsTooLongForRoomIsRefused) {
  const auto answer = Ask(kRangePath, RangeBody({.key = kAllKeys, .range_end = kAllKeys}));
  AnswerMemory::Reservation others(&memory_);
  ASSERT_TRUE(others.Grow(kLimitBytes));
  const auto next = Take(*answer);
  ASSERT_FALSE(next.has_value());
  EXPECT_EQ(next.error(), kErrAnswersFull);
}

TEST_F(FullMemoryTest, WhatMustBeSortedFitsOrIsRefused) {
  limits().loop_bytes = 1000;
  // Larger than the block that needs no room.
  for (int i = 0; i < 300; ++i) Put("large" + std::to_string(i), std::string(1000, 'l'));
  const std::string sorted =
      RangeBody({.key = kAllKeys, .range_end = kAllKeys, .sort_order = 1, .sort_target = 3});
  const auto refused = Ask(kRangePath, sorted);
  EXPECT_EQ(*refused->outcome, kErrAnswersFull);
  AnswerMemory& roomy = served_.LimitAnswers(1 << 20);
  {
    const auto answer = Ask(kRangePath, sorted);
    EXPECT_EQ(answer->outcome->code, Code::kOk);
    EXPECT_EQ(answer->to_come, 0);
    EXPECT_EQ(answer->bytes, Whole(kRangePath, sorted));
  }
  EXPECT_EQ(roomy.used_bytes(), 0);
}

TEST_F(FullMemoryTest, SmallReadsAreServedWhateverOthersHold) {
  served_.LimitAnswers(0);
  const auto one = served_.Send(kRangePath, RangeBody({.key = "k100", .serializable = true}));
  EXPECT_EQ(one->times, 1);
  EXPECT_EQ(served_.Await(*one), Whole(kRangePath, RangeBody({.key = "k100"})));
}

}  // namespace
}  // namespace kvorum::server
