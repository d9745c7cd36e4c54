// Reads for an answer end where its room does; writes do not.
#include "mvcc/store/answer_room.h"

#include <cstddef>
#include <string>
#include <vector>

#include "tests/mvcc/store_fixture.h"

namespace kvorum::mvcc {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kHundredBytes(100, 'v');
// The room of a row with a one-letter key and this value, and the number of rows that a limit
// admits.
constexpr std::size_t kRowBytes = 3 + 102 + 6 + RowBuffer::kBytesBesideRow;

AnswerRoom Unwanted() {
  return AnswerRoom(SIZE_MAX, {.is_wanted = [] { return false; }, .reserve = nullptr});
}

class AnswerRoomTest : public StoreTest {
 protected:
  AnswerRoomTest() {
    for (const char* key : {"a", "b", "c"}) Put(key, kHundredBytes);
  }
  Result<TxnResult> TryTxn(const TxnRequest& request, AnswerRoom& room) {
    WriteTxn txn = store->Begin(room);
    Result<TxnResult> result = txn.ExecuteTxn(request);
    txn.End();
    Publish();
    return result;
  }
  TxnResult Txn(const TxnRequest& request, AnswerRoom& room) { return Ok(TryTxn(request, room)); }
  static std::vector<std::string> RowsOf(const TxnResult& txn, std::size_t i) {
    return KeysOf(std::get<RangeResult>(txn.responses[i]).rows);
  }
  std::uint64_t ranges() const { return store->counters().ranges; }
};

TEST_F(AnswerRoomTest, NoRangeRunsForAnAnswerThatNobodyWaitsFor) {
  AnswerRoom room = Unwanted();
  TxnRequest nested = mvcc::Txn(List(GetAll(), mvcc::Put("e", "nested")));
  const TxnResult result =
      Txn(mvcc::Txn(List(GetAll(), mvcc::Put("d", "1"), GetAll(), std::move(nested))), room);
  EXPECT_EQ(ranges(), 0U);
  EXPECT_EQ(room.taken_bytes(), 0U);
  EXPECT_EQ(result.revision, 5);
  EXPECT_THAT(RowsOf(result, 2), IsEmpty());
  EXPECT_THAT(Keys(GetAll()), ElementsAre("a", "b", "c", "d", "e"));
}

TEST_F(AnswerRoomTest, PreviousValuesAreNotReadEither) {
  AnswerRoom room = Unwanted();
  const TxnResult result = Txn(
      mvcc::Txn(List(WithPrevKv(mvcc::Put("a", "1")), WithPrevKv(mvcc::Delete("b", "z")))), room);
  EXPECT_THAT(std::get<PutResult>(result.responses[0]).prev_kv.view(), IsEmpty());
  EXPECT_THAT(std::get<DeleteRangeResult>(result.responses[1]).prev_kvs, IsEmpty());
  EXPECT_EQ(room.taken_bytes(), 0U);
  EXPECT_THAT(Keys(GetAll()), ElementsAre("a"));
}

TEST_F(AnswerRoomTest, WhoWaitsIsAskedOnceAndOnlyBeforeSomethingIsRead) {
  int asked = 0;
  const auto room = [&] {
    return AnswerRoom(SIZE_MAX,
                      {.is_wanted = [&asked] { return ++asked > 0; }, .reserve = nullptr});
  };
  AnswerRoom unread = room();
  Txn(mvcc::Txn(List(mvcc::Put("a", "1"), mvcc::Delete("b"))), unread);
  EXPECT_EQ(asked, 0);
  AnswerRoom read = room();
  const TxnResult result = Txn(mvcc::Txn(List(GetAll(), mvcc::Put("a", "1"), Get("a"))), read);
  EXPECT_EQ(asked, 1);
  EXPECT_THAT(RowsOf(result, 2), ElementsAre("a"));
}

// A range that could not run is refused on the member that reads it and on those that do not.
TEST_F(AnswerRoomTest, WhatIsNotReadIsCheckedAllTheSame) {
  Compact(3);
  for (const std::int64_t revision : {2, 9}) {
    AnswerRoom room = Unwanted();
    const auto refused = TryTxn(mvcc::Txn(List(mvcc::Put("x", "1"), GetAt(revision, "a"))), room);
    EXPECT_TRUE(FailsWith(refused, revision == 2 ? kErrCompacted : kErrFutureRev));
  }
  EXPECT_EQ(revision(), 4) << "and nothing is written";
}

TEST_F(AnswerRoomTest, ReadingEndsAtTheLimitAndWritingGoesOn) {
  AnswerRoom room(2 * kRowBytes);
  Txn(mvcc::Txn(List(GetAll(), mvcc::Put("d", "1"), GetAll(), WithPrevKv(mvcc::Delete("a")))),
      room);
  EXPECT_TRUE(room.is_exceeded());
  EXPECT_LE(room.taken_bytes(), 3 * kRowBytes) << "the first row too many was the last one read";
  EXPECT_EQ(ranges(), 1U);
  EXPECT_THAT(Keys(GetAll()), ElementsAre("b", "c", "d"));
}

TEST_F(AnswerRoomTest, AllOperationsOfATxnShareTheRoom) {
  AnswerRoom enough(3 * kRowBytes);
  TxnRequest nested = mvcc::Txn(List(Get("c"), mvcc::Put("x", "1")));
  const TxnResult result =
      Txn(mvcc::Txn(List(Get("a"), WithPrevKv(mvcc::Put("b", kHundredBytes)), std::move(nested))),
          enough);
  EXPECT_FALSE(enough.is_exceeded());
  EXPECT_THAT(RowsOf(result, 0), ElementsAre("a"));
  AnswerRoom little(3 * kRowBytes);
  TxnRequest more = mvcc::Txn(List(Get("c"), Get("a"), mvcc::Put("x", "2")));
  Txn(mvcc::Txn(List(Get("a"), WithPrevKv(mvcc::Put("b", kHundredBytes)), std::move(more))),
      little);
  EXPECT_TRUE(little.is_exceeded());
  EXPECT_THAT(Rows(Get("x")), ElementsAre("x=2 c5 m6 v2"));
}

// A range that is sorted holds a part of every row in it; the room is asked first.
TEST_F(AnswerRoomTest, ASortTakesItsRoomBeforeItsMemory) {
  for (int i = 0; i < 997; ++i) Put("k" + std::to_string(i), "");
  RangeRequest newest_first = GetAll();
  newest_first.sort_target = SortTarget::kMod;
  newest_first.sort_order = SortOrder::kDescend;
  newest_first.keys_only = true;
  AnswerRoom little(50'000);  // for the rows alone
  Txn(mvcc::Txn(List(mvcc::Put("x", "1"), newest_first)), little);
  EXPECT_TRUE(little.is_exceeded());
  EXPECT_THAT(Rows(Get("x")), ElementsAre("x=1 c1002 m1002 v1")) << "the write is done";
  AnswerRoom enough(150'000);  // for two blocks of the sort
  const TxnResult all = Txn(mvcc::Txn(List(mvcc::Put("x", "2"), newest_first)), enough);
  EXPECT_FALSE(enough.is_exceeded());
  EXPECT_EQ(RowsOf(all, 1).size(), 1001U);
  EXPECT_LT(enough.taken_bytes(), 50'000U) << "the sort has given its room back";
  newest_first.limit = 3;
  AnswerRoom for_few(1'000);
  const TxnResult few = Txn(mvcc::Txn(List(mvcc::Put("x", "3"), newest_first)), for_few);
  EXPECT_FALSE(for_few.is_exceeded()) << "it holds no more than twice the limit";
  EXPECT_THAT(RowsOf(few, 1), ElementsAre("x", "k996", "k995"));
}

TEST_F(AnswerRoomTest, SmallAnswersReserveNothing) {
  std::size_t reserved = 0;
  const auto reserve = [&reserved](std::size_t bytes) {
    reserved += bytes;
    return reserved <= 4 * AnswerRoom::kStepBytes;
  };
  AnswerRoom room(SIZE_MAX, {.is_wanted = nullptr, .reserve = reserve});
  EXPECT_TRUE(room.Take(AnswerRoom::kStepBytes));
  EXPECT_EQ(reserved, 0U);
  EXPECT_TRUE(room.Take(1));
  EXPECT_EQ(reserved, AnswerRoom::kStepBytes);
  EXPECT_TRUE(room.Take(3 * AnswerRoom::kStepBytes));
  EXPECT_FALSE(room.Take(AnswerRoom::kStepBytes)) << "there is no more for all answers together";
  EXPECT_TRUE(room.is_exceeded());
  EXPECT_EQ(room.room_bytes(), 4 * AnswerRoom::kStepBytes + 1) << "what had been taken by then";
  EXPECT_FALSE(room.Take(0)) << "nor later";
}

}  // namespace
}  // namespace kvorum::mvcc
