// The bounds of reads for answers while entries are applied.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "server/apply/applier.h"
#include "tests/server/apply/applier_fixture.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;

const std::string kReadAll = OpBody(1, RangeBody({.key = {"\0", 1}, .range_end = {"\0", 1}}));
const std::string kTxnThatReads =
    TxnBody({kReadAll, OpBody(2, PutBody("t", "v")), kReadAll,
             OpBody(4, TxnBody({kReadAll, OpBody(2, PutBody("u", "v"))}))});

TEST_F(ApplierTest, RangesOfATxnRunOnlyWhereSomebodyWaits) {
  ASSERT_EQ(Outcome(RequestKind::kPut, kPutBody), "ok");
  const std::uint64_t before = store->counters().ranges;
  ApplyAll({Entry(RequestKind::kTxn, kTxnThatReads)});
  EXPECT_EQ(store->counters().ranges, before) << "as on a follower, and at a replay";
  EXPECT_THAT(Keys(mvcc::GetAll()), ElementsAre("k", "t", "u"));
  const auto waited_for = Apply(RequestKind::kTxn, kTxnThatReads);
  EXPECT_EQ(store->counters().ranges, before + 4) << "three of the txn, and this test's own one";
  ASSERT_TRUE(waited_for.has_value());
  const auto& txn = std::get<mvcc::TxnResult>(*waited_for);
  EXPECT_THAT(mvcc::KeysOf(std::get<mvcc::RangeResult>(txn.responses[2]).rows),
              ElementsAre("k", "t", "u"));
}

TEST_F(ApplierTest, AnAnswerPastItsBoundIsAnErrorOfAWriteThatWasDone) {
  SetBounds({.answer_bytes = 200});
  ASSERT_EQ(Outcome(RequestKind::kPut, PutBody("k", std::string(100, 'v'))), "ok");
  const std::string too_large = "grpc: trying to send message larger than max (";
  const std::string txn = Outcome(RequestKind::kTxn, kTxnThatReads);
  EXPECT_TRUE(txn.starts_with(too_large)) << txn;
  EXPECT_TRUE(txn.ends_with(" vs. 200)")) << txn;
  EXPECT_THAT(Keys(mvcc::GetAll()), ElementsAre("k", "t", "u"));
  const std::string large(200, 'v');
  ASSERT_EQ(Outcome(RequestKind::kPut, PutBody("l", large)), "ok");
  for (const auto& [kind, body] :
       {std::pair(RequestKind::kPut, PutWithPrevKvBody("l", large)),
        std::pair(RequestKind::kDeleteRange, DeleteWithPrevKvBody("l"))}) {
    const std::string outcome = Outcome(kind, body);
    EXPECT_TRUE(outcome.starts_with(too_large)) << outcome;
  }
  EXPECT_THAT(Keys(mvcc::GetAll()), ElementsAre("k", "t", "u"));
  EXPECT_EQ(FatalText(), "none");
}

TEST_F(ApplierTest, LargeAnswersReserveTheirMemoryUntilTheyAreGivenOn) {
  constexpr std::size_t kMiB = 1 << 20;
  AnswerMemory memory(8 * kMiB);
  SetBounds({.answers = &memory});
  ASSERT_EQ(Outcome(RequestKind::kPut, PutBody("k", std::string(kMiB, 'v'))), "ok");
  const raft::Entry first = Entry(RequestKind::kTxn, kTxnThatReads);
  const auto outcome = Wait(first.index);
  ApplyAll({first});
  ASSERT_TRUE(outcome->has_value());
  ASSERT_TRUE((*outcome)->value.has_value()) << (*outcome)->value.error().message;
  EXPECT_GT(memory.used_bytes(), 5 * kMiB) << "three times the value, and as much to encode it";
  const std::string second = Outcome(RequestKind::kTxn, kTxnThatReads);
  EXPECT_TRUE(second.starts_with("grpc: trying to send message larger than max (")) << second;
  EXPECT_EQ(revision(), 4) << "written all the same";
  outcome->reset();
  EXPECT_EQ(memory.used_bytes(), 0U);
  EXPECT_EQ(Outcome(RequestKind::kTxn, kTxnThatReads), "ok");
}

// A batch has up to a thousand entries, and each may read as much as it likes.
TEST_F(ApplierTest, AnswersThatAreLargeTogetherAreGivenOutBeforeTheBatchEnds) {
  SetBounds({.answer_bytes = 10'000, .batch_bytes = 1000});
  ASSERT_EQ(Outcome(RequestKind::kPut, PutBody("k", std::string(500, 'v'))), "ok");
  std::vector<raft::Entry> entries;
  for (int i = 0; i < 3; ++i) entries.push_back(Entry(RequestKind::kTxn, kTxnThatReads));
  std::vector<std::int64_t> seen_revisions;
  std::vector<PendingProposal> waiting;
  struct Note final : Waiter {
    Note(std::vector<std::int64_t>& to, const mvcc::Store& of) : seen(to), store(of) {}
    void Applied(ApplyResult result) override {
      ASSERT_TRUE(result.value.has_value());
      EXPECT_GE(store.revision(), std::get<mvcc::TxnResult>(*result.value).revision);
      seen.push_back(store.revision());
    }
    void Failed(const Error&) override { FAIL() << "the applier fails nobody"; }
    std::vector<std::int64_t>& seen;
    const mvcc::Store& store;
  };
  for (const raft::Entry& entry : entries) {
    waiting.push_back({.id = entry.index.value(),
                       .deadline = {},
                       .waiter = std::make_unique<Note>(seen_revisions, *store)});
  }
  waiters_.Register(std::move(waiting));
  ApplyAll(entries);
  EXPECT_THAT(seen_revisions, ElementsAre(3, 4, 5)) << "each is published with what it changed";
}

// A put that keeps the value copies it, however small the request is.
TEST_F(ApplierTest, EntriesWaitWhileTheStoreHasNoRoomForWhatTheyWrite) {
  ASSERT_EQ(Outcome(RequestKind::kPut, PutBody("k", std::string(1 << 20, 'v'))), "ok");
  std::string keep = PutBody("k", "");
  wire::AppendBool(keep, 5, true);
  const std::string copy = TxnBody({OpBody(2, keep)});
  std::vector<raft::Entry> entries;
  for (int i = 0; i < 100; ++i) entries.push_back(Entry(RequestKind::kTxn, copy));
  std::span<const raft::Entry> left = entries;
  const std::size_t first = applier_->Apply(left);
  EXPECT_LT(first, 80U) << "with 64 MiB in the buffer";
  EXPECT_LE(store->PendingBytes(), std::uint64_t{80} << 20);
  EXPECT_EQ(store->revision(), 2 + static_cast<std::int64_t>(first)) << "shown as far as it went";
  for (left = left.subspan(first); !left.empty(); left = left.subspan(applier_->Apply(left)))
    Settle();
  EXPECT_EQ(applier_->applied_index(), entries.back().index);
  EXPECT_EQ(revision(), 102);
}

}  // namespace
}  // namespace kvorum::server
