// The rules of Txn, one test a rule.
#include "tests/mvcc/store_fixture.h"

namespace kvorum::mvcc {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const RangeResult& RangeOf(const TxnResult& txn, std::size_t i) {
  return std::get<RangeResult>(txn.responses[i]);
}
const PutResult& PutOf(const TxnResult& txn, std::size_t i) {
  return std::get<PutResult>(txn.responses[i]);
}
const DeleteRangeResult& DeleteOf(const TxnResult& txn, std::size_t i) {
  return std::get<DeleteRangeResult>(txn.responses[i]);
}
const TxnResult& TxnOf(const TxnResult& txn, std::size_t i) {
  return *std::get<std::unique_ptr<TxnResult>>(txn.responses[i]);
}

class TxnTest : public StoreTest {
 protected:
  // Revisions: a 2, b 3, a again 4.
  TxnTest() {
    leases.leases = {7};
    Put("a", "1");
    Put("b", "2");
    Put("a", "3");
  }
  bool Holds(Compare compare) {
    const TxnResult result = Txn(TxnIf({compare}, {}));
    EXPECT_EQ(Ok(Ok(store->Read()).Txn(TxnIf({compare}, {}))).succeeded, result.succeeded);
    return result.succeeded;
  }
};

using enum CompareTarget;
using enum CompareResult;

// ---- compares ----

TEST_F(TxnTest, ComparesEachNumber) {
  EXPECT_TRUE(Holds(CompareNumber(kVersion, "a", kEqual, 2)));
  EXPECT_TRUE(Holds(CompareNumber(kCreate, "a", kEqual, 2)));
  EXPECT_TRUE(Holds(CompareNumber(kMod, "a", kEqual, 4)));
  EXPECT_TRUE(Holds(CompareNumber(kLease, "a", kEqual, 0)));
  Put("a", "1", 7);
  EXPECT_TRUE(Holds(CompareNumber(kLease, "a", kEqual, 7)));
}

TEST_F(TxnTest, ComparesInEachWay) {
  EXPECT_TRUE(Holds(CompareNumber(kMod, "a", kGreater, 3)));
  EXPECT_FALSE(Holds(CompareNumber(kMod, "a", kGreater, 4)));
  EXPECT_TRUE(Holds(CompareNumber(kMod, "a", kLess, 5)));
  EXPECT_FALSE(Holds(CompareNumber(kMod, "a", kLess, 4)));
  EXPECT_TRUE(Holds(CompareNumber(kMod, "a", kNotEqual, 5)));
  EXPECT_FALSE(Holds(CompareNumber(kMod, "a", kNotEqual, 4)));
  EXPECT_FALSE(Holds(CompareNumber(kMod, "a", kEqual, 3)));
}

TEST_F(TxnTest, ComparesValuesBytewise) {
  EXPECT_TRUE(Holds(CompareValue("a", kEqual, "3")));
  EXPECT_TRUE(Holds(CompareValue("a", kGreater, "2zzz")));
  EXPECT_TRUE(Holds(CompareValue("a", kLess, "30")));
  Put("a", "\xff");
  EXPECT_TRUE(Holds(CompareValue("a", kGreater, "\x7f")));
}

TEST_F(TxnTest, AMissingKeyComparesAsZeros) {
  EXPECT_TRUE(Holds(CompareNumber(kVersion, "x", kEqual, 0)));
  EXPECT_TRUE(Holds(CompareNumber(kCreate, "x", kEqual, 0)));
  EXPECT_TRUE(Holds(CompareNumber(kMod, "x", kLess, 1)));
  EXPECT_TRUE(Holds(CompareNumber(kLease, "x", kEqual, 0)));
  EXPECT_FALSE(Holds(CompareNumber(kVersion, "x", kGreater, 0)));
}

TEST_F(TxnTest, AMissingKeyFailsEveryValueCompare) {
  EXPECT_FALSE(Holds(CompareValue("x", kEqual, "")));
  EXPECT_FALSE(Holds(CompareValue("x", kNotEqual, "y")));
  EXPECT_FALSE(Holds(Over("z", CompareValue("x", kNotEqual, "y"))));
}

TEST_F(TxnTest, ACompareOverARangeMustHoldForEveryKey) {
  EXPECT_TRUE(Holds(Over("c", CompareNumber(kMod, "a", kGreater, 2))));
  EXPECT_FALSE(Holds(Over("c", CompareNumber(kMod, "a", kGreater, 3))));
  EXPECT_TRUE(Holds(Over(kOpenEnd, CompareNumber(kVersion, "b", kEqual, 1))));
  EXPECT_FALSE(Holds(Over(kOpenEnd, CompareValue("a", kEqual, "3"))));
  EXPECT_TRUE(Holds(Over("z", CompareNumber(kVersion, "x", kEqual, 0))));
}

TEST_F(TxnTest, ComparesAreAnded) {
  EXPECT_TRUE(Txn(TxnIf({Exists("a"), Exists("b")}, {})).succeeded);
  EXPECT_FALSE(Txn(TxnIf({Exists("a"), Exists("x")}, {})).succeeded);
}

TEST_F(TxnTest, WithoutComparesATxnSucceeds) { EXPECT_TRUE(Txn(mvcc::Txn({})).succeeded); }

// QUIRK: unknown enum values of a compare are not refused.
TEST_F(TxnTest, AnUnknownCompareTargetIsEqualToEverything) {
  EXPECT_TRUE(Holds(CompareNumber(static_cast<CompareTarget>(9), "a", kEqual, 77)));
  EXPECT_FALSE(Holds(CompareNumber(static_cast<CompareTarget>(9), "a", kNotEqual, 77)));
  EXPECT_TRUE(Holds(CompareNumber(static_cast<CompareTarget>(9), "x", kEqual, 77)));
}
TEST_F(TxnTest, AnUnknownCompareResultHolds) {
  EXPECT_TRUE(Holds(CompareNumber(kMod, "a", static_cast<CompareResult>(9), 77)));
}

// ---- branches ----

TEST_F(TxnTest, RunsTheBranchThatTheComparesChoose) {
  TxnResult result =
      Txn(TxnIf({Exists("a")}, List(mvcc::Put("c", "yes")), List(mvcc::Put("c", "no"))));
  EXPECT_TRUE(result.succeeded);
  result = Txn(TxnIf({Exists("x")}, List(mvcc::Put("d", "yes")), List(mvcc::Put("d", "no"))));
  EXPECT_FALSE(result.succeeded);
  EXPECT_THAT(Rows(Get("c", "e")), ElementsAre("c=yes c5 m5 v1", "d=no c6 m6 v1"));
}

TEST_F(TxnTest, AllChangesShareARevision) {
  const TxnResult result =
      Txn(mvcc::Txn(List(mvcc::Put("c", "1"), mvcc::Delete("b"), mvcc::Put("d", "2"))));
  EXPECT_EQ(result.revision, 5);
  EXPECT_EQ(revision(), 5);
  EXPECT_EQ(PutOf(result, 0).revision, 5);
  EXPECT_EQ(DeleteOf(result, 1).revision, 5);
  EXPECT_THAT(Rows(GetAll()), ElementsAre("a=3 c2 m4 v2", "c=1 c5 m5 v1", "d=2 c5 m5 v1"));
}

TEST_F(TxnTest, ATxnThatChangesNothingMakesNoRevision) {
  const TxnResult result = Txn(mvcc::Txn(List(Get("a"), mvcc::Delete("x"))));
  EXPECT_EQ(result.revision, 4);
  EXPECT_EQ(DeleteOf(result, 1).revision, 4);
  EXPECT_EQ(RangeOf(result, 0).revision, 4);
  EXPECT_EQ(revision(), 4);
}

TEST_F(TxnTest, AnEarlierChangeMovesTheRevisionOfLaterAnswers) {
  const TxnResult result = Txn(mvcc::Txn(
      List(Get("a"), mvcc::Delete("x"), mvcc::Put("c", ""), Get("a"), mvcc::Delete("x"))));
  EXPECT_EQ(RangeOf(result, 0).revision, 4);
  EXPECT_EQ(DeleteOf(result, 1).revision, 4);
  EXPECT_EQ(RangeOf(result, 3).revision, 5);
  EXPECT_EQ(DeleteOf(result, 4).revision, 5);
}

TEST_F(TxnTest, LaterOperationsSeeEarlierOnes) {
  const TxnResult result = Txn(
      mvcc::Txn(List(mvcc::Put("c", "new"), Get("c"), mvcc::Delete("a"), Get("a", "c"), GetAll())));
  EXPECT_THAT(Show(RangeOf(result, 1).rows), ElementsAre("c=new c5 m5 v1"));
  EXPECT_THAT(KeysOf(RangeOf(result, 3).rows), ElementsAre("b"));
  EXPECT_EQ(RangeOf(result, 4).count, 2);
}

TEST_F(TxnTest, ARangeAtTheOldRevisionDoesNotSeeThem) {
  const TxnResult result = Txn(mvcc::Txn(List(mvcc::Put("a", "new"), GetAt(4, "a"))));
  EXPECT_THAT(Show(RangeOf(result, 1).rows), ElementsAre("a=3 c2 m4 v2"));
}

TEST_F(TxnTest, PreviousPairsAreThoseOfTheMoment) {
  const TxnResult result = Txn(mvcc::Txn(
      List(WithPrevKv(mvcc::Put("b", "4")), mvcc::Txn(List(WithPrevKv(mvcc::Delete("b", "d")))))));
  EXPECT_EQ(Show(PutOf(result, 0).prev_kv.view()), "b=2 c3 m3 v1");
}

TEST_F(TxnTest, ADeleteAfterASiblingsPutOfItsKeyDeletesIt) {
  const TxnResult result = Txn(mvcc::Txn(
      List(mvcc::Txn(List(mvcc::Put("c", "1"))), mvcc::Txn(List(WithPrevKv(mvcc::Delete("c")))))));
  EXPECT_THAT(Show(DeleteOf(TxnOf(result, 1), 0).prev_kvs), ElementsAre("c=1 c5 m5 v1"));
  EXPECT_THAT(Rows(Get("c")), IsEmpty());
  EXPECT_EQ(revision(), 5);
  Settle();
  Reopen();
  EXPECT_THAT(Rows(Get("c")), IsEmpty());
  EXPECT_EQ(revision(), 5);
}

// The duplicate check does not see a delete that is open to the end.
TEST_F(TxnTest, APutAfterADeleteToTheEndMakesANewGeneration) {
  Txn(mvcc::Txn(List(mvcc::Delete("a", kOpenEnd), mvcc::Put("b", "new"))));
  EXPECT_THAT(Rows(GetAll()), ElementsAre("b=new c5 m5 v1"));
  Settle();
  Reopen();
  EXPECT_THAT(Rows(GetAll()), ElementsAre("b=new c5 m5 v1"));
  Compact(5);
  Settle();
  EXPECT_THAT(Rows(GetAll()), ElementsAre("b=new c5 m5 v1"));
  Reopen();
  EXPECT_THAT(Rows(GetAll()), ElementsAre("b=new c5 m5 v1"));
}

// ---- nested ----

TEST_F(TxnTest, ANestedAnswerHasNoRevision) {
  const TxnResult result = Txn(mvcc::Txn(List(mvcc::Txn(List(mvcc::Put("c", "1"))))));
  EXPECT_EQ(result.revision, 5);
  EXPECT_EQ(TxnOf(result, 0).revision, 0);
  EXPECT_TRUE(TxnOf(result, 0).succeeded);
  EXPECT_EQ(PutOf(TxnOf(result, 0), 0).revision, 5);
}

// QUIRK: nested compares see the state before the whole txn.
TEST_F(TxnTest, NestedComparesSeeTheStateBefore) {
  const TxnResult result =
      Txn(mvcc::Txn(List(mvcc::Put("c", "1"), TxnIf({Exists("c")}, List(mvcc::Put("d", "yes")),
                                                    List(mvcc::Put("d", "no"))))));
  EXPECT_FALSE(TxnOf(result, 1).succeeded);
  EXPECT_THAT(Rows(Get("d")), ElementsAre("d=no c5 m5 v1"));
}

TEST_F(TxnTest, NestedTxnsChooseEachTheirOwnBranch) {
  const auto leaf = [](std::string_view key, std::string_view exists) {
    return TxnIf({Exists(exists)}, List(mvcc::Put(key, "yes")), List(mvcc::Put(key, "no")));
  };
  const TxnResult result = Txn(mvcc::Txn(
      List(TxnIf({Exists("x")}, List(leaf("c1", "a")), List(leaf("c2", "a"), leaf("c3", "x"))),
           leaf("c4", "x"), TxnIf({Exists("a")}, List(leaf("c5", "x"), leaf("c6", "b")), {}))));
  EXPECT_FALSE(TxnOf(result, 0).succeeded);
  EXPECT_THAT(Rows(Get("c", "d")),
              ElementsAre("c2=yes c5 m5 v1", "c3=no c5 m5 v1", "c4=no c5 m5 v1", "c5=no c5 m5 v1",
                          "c6=yes c5 m5 v1"));
}

// ---- checks before anything is written ----

TEST_F(TxnTest, NothingIsWrittenWhenALaterOperationIsRefused) {
  EXPECT_TRUE(FailsWith(TryTxn(mvcc::Txn(List(mvcc::Put("c", "1"), mvcc::Put("d", "1", 99)))),
                        kErrLeaseNotFound));
  EXPECT_TRUE(FailsWith(TryTxn(mvcc::Txn(List(mvcc::Put("c", "1"), PutKeepingValue("x")))),
                        kErrKeyNotFound));
  EXPECT_TRUE(
      FailsWith(TryTxn(mvcc::Txn(List(mvcc::Put("c", "1"), GetAt(99, "a")))), kErrFutureRev));
  EXPECT_THAT(Keys(GetAll()), ElementsAre("a", "b"));
  EXPECT_EQ(revision(), 4);
}

TEST_F(TxnTest, NestedOperationsAreCheckedToo) {
  EXPECT_TRUE(
      FailsWith(TryTxn(mvcc::Txn(List(mvcc::Put("c", "1"), mvcc::Txn(List(GetAt(99, "a")))))),
                kErrFutureRev));
  EXPECT_EQ(revision(), 4);
}

TEST_F(TxnTest, ABranchThatDoesNotRunIsNotChecked) {
  EXPECT_TRUE(Txn(TxnIf({Exists("a")}, {}, List(mvcc::Put("c", "1", 99)))).succeeded);
}

TEST_F(TxnTest, TheFirstRefusalInOrderIsReported) {
  EXPECT_TRUE(
      FailsWith(TryTxn(mvcc::Txn(List(GetAt(99, "a"), PutKeepingValue("x")))), kErrFutureRev));
  EXPECT_TRUE(
      FailsWith(TryTxn(mvcc::Txn(List(PutKeepingValue("x"), GetAt(99, "a")))), kErrKeyNotFound));
  EXPECT_TRUE(FailsWith(TryTxn(mvcc::Txn(List(PutKeepingValue("x", 99)))), kErrLeaseNotFound));
}

TEST_F(TxnTest, ARangeMayNotAskForTheRevisionThatTheTxnWillMake) {
  EXPECT_TRUE(
      FailsWith(TryTxn(mvcc::Txn(List(mvcc::Put("c", "1"), GetAt(5, "a")))), kErrFutureRev));
}

TEST_F(TxnTest, ARangeBelowTheCompactedRevisionFailsTheWholeTxn) {
  Compact(3);
  EXPECT_TRUE(
      FailsWith(TryTxn(mvcc::Txn(List(mvcc::Put("c", "1"), GetAt(2, "a")))), kErrCompacted));
  EXPECT_EQ(revision(), 4);
}

// QUIRK
TEST_F(TxnTest, ANegativeRangeRevisionCountsAsCompacted) {
  EXPECT_THAT(KeysOf(RangeOf(Txn(mvcc::Txn(List(GetAt(-1, "a")))), 0).rows), ElementsAre("a"));
  EXPECT_TRUE(FailsWith(TryTxn(mvcc::Txn(List(GetAt(-2, "a")))), kErrCompacted));
  Compact(2);
  EXPECT_TRUE(FailsWith(TryTxn(mvcc::Txn(List(GetAt(-1, "a")))), kErrCompacted));
}

TEST_F(TxnTest, IgnoreValueSeesTheStateBeforeForItsCheckAndKeepsTheValue) {
  Txn(mvcc::Txn(List(PutKeepingValue("a", 7))));
  EXPECT_THAT(Rows(Get("a")), ElementsAre("a=3 c2 m5 v3 l7"));
}

// pitfalls.md, section 1: ends etcd for good.
TEST_F(TxnTest, IgnoringTheValueOfAKeyThatTheTxnDeletesIsRefused) {
  EXPECT_TRUE(
      FailsWith(TryTxn(mvcc::Txn(List(mvcc::Delete(kOpenEnd, kOpenEnd), PutKeepingValue("a")))),
                kErrKeyNotFound));
  EXPECT_TRUE(FailsWith(TryTxn(mvcc::Txn(List(mvcc::Txn(List(mvcc::Delete("a", kOpenEnd))),
                                              mvcc::Txn(List(PutKeepingLease("b", "x")))))),
                        kErrKeyNotFound));
  EXPECT_THAT(Rows(GetAll()), ElementsAre("a=3 c2 m4 v2", "b=2 c3 m3 v1"));
  EXPECT_EQ(revision(), 4);
  // In the other order it is fine.
  Txn(mvcc::Txn(List(PutKeepingValue("a"), mvcc::Delete(kOpenEnd, kOpenEnd))));
  EXPECT_THAT(Rows(GetAll()), IsEmpty());
  Settle();
  Reopen();
  EXPECT_EQ(revision(), 5);
}

TEST_F(TxnTest, AnOperationThatCarriesNothingAnswersNothing) {
  Ops ops;
  ops.emplace_back();
  const TxnResult result = Txn(mvcc::Txn(std::move(ops)));
  ASSERT_EQ(result.responses.size(), 1U);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(result.responses[0]));
}

// ---- read-only ----

TEST_F(TxnTest, AReadOnlyTxnRunsOnAView) {
  ReadView view = Ok(store->Read());
  Put("a", "later");
  const TxnResult result = Ok(
      view.Txn(TxnIf({CompareValue("a", kEqual, "3")}, List(Get("a"), GetAll()), List(Get("x")))));
  EXPECT_TRUE(result.succeeded);
  EXPECT_EQ(result.revision, 4);
  EXPECT_THAT(Show(RangeOf(result, 0).rows), ElementsAre("a=3 c2 m4 v2"));
  EXPECT_TRUE(FailsWith(view.Txn(mvcc::Txn(List(GetAt(5, "a")))), kErrFutureRev));
}

TEST_F(TxnTest, OneEntryMayPutManyKeysWithoutATxn) {
  {
    WriteTxn txn = store->Begin();
    EXPECT_EQ(Ok(txn.Put(mvcc::Put("x", "1"))).revision, 5);
    EXPECT_EQ(Ok(txn.DeleteRange(mvcc::Delete("a"))).revision, 5);
    EXPECT_THAT(KeysOf(Ok(txn.Range(GetAll())).rows), ElementsAre("b", "x"));
  }
  Publish();
  EXPECT_EQ(revision(), 5);
}

}  // namespace
}  // namespace kvorum::mvcc
