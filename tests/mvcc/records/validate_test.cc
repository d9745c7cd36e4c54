#include "mvcc/records/validate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/api_errors.h"
#include "tests/mvcc/store_requests.h"

namespace kvorum::mvcc {
namespace {

constexpr std::size_t kMaxOps = 128;

testing::AssertionResult Is(const Result<void>& result, const ApiError& error) {
  if (result.has_value()) return testing::AssertionFailure() << "accepted";
  if (result.error() == error) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().message;
}
testing::AssertionResult IsOk(const Result<void>& result) {
  if (result.has_value()) return testing::AssertionSuccess();
  return testing::AssertionFailure() << result.error().message;
}

TEST(CheckRangeTest, NeedsAKey) { EXPECT_TRUE(Is(CheckRange(Get("")), kErrEmptyKey)); }

TEST(CheckRangeTest, RefusesUnknownSortOrdersAndTargets) {
  RangeRequest order = Get("a");
  order.sort_order = static_cast<SortOrder>(3);
  EXPECT_TRUE(Is(CheckRange(order), kErrInvalidSortOption));
  RangeRequest target = Get("a");
  target.sort_target = static_cast<SortTarget>(5);
  EXPECT_TRUE(Is(CheckRange(target), kErrInvalidSortOption));
  target.sort_target = static_cast<SortTarget>(-1);
  EXPECT_TRUE(Is(CheckRange(target), kErrInvalidSortOption));
}

TEST(CheckRangeTest, ReportsTheKeyBeforeTheSort) {
  RangeRequest request = Get("");
  request.sort_target = static_cast<SortTarget>(9);
  EXPECT_TRUE(Is(CheckRange(request), kErrEmptyKey));
}

TEST(CheckRangeTest, TakesEveryKnownSort) {
  for (int order = 0; order < 3; ++order) {
    for (int target = 0; target < 5; ++target) {
      RangeRequest request = Get("a", "b");
      request.sort_order = static_cast<SortOrder>(order);
      request.sort_target = static_cast<SortTarget>(target);
      EXPECT_TRUE(IsOk(CheckRange(request)));
    }
  }
}

TEST(CheckRangeStreamTest, OffersKeyOrderOnly) {
  RangeRequest request = Get("a", "b");
  request.sort_order = SortOrder::kAscend;
  EXPECT_TRUE(IsOk(CheckRangeStream(request)));
  request.sort_order = SortOrder::kDescend;
  EXPECT_TRUE(Is(CheckRangeStream(request), kErrStreamSortOrder));
  request.sort_order = SortOrder::kAscend;
  request.sort_target = SortTarget::kMod;
  EXPECT_TRUE(Is(CheckRangeStream(request), kErrStreamSortOrder));
}

// The order NONE counts as the default for any target, as in etcd.
TEST(CheckRangeStreamTest, TakesAnyTargetWithoutAnOrder) {
  RangeRequest request = Get("a", "b");
  request.sort_target = SortTarget::kValue;
  EXPECT_TRUE(IsOk(CheckRangeStream(request)));
}

TEST(CheckRangeStreamTest, OffersNoRevisionFilters) {
  for (auto field : {&RangeRequest::min_mod_revision, &RangeRequest::max_mod_revision,
                     &RangeRequest::min_create_revision, &RangeRequest::max_create_revision}) {
    RangeRequest request = Get("a", "b");
    request.*field = 1;
    EXPECT_TRUE(Is(CheckRangeStream(request), kErrStreamFilters));
  }
}

TEST(CheckPutTest, ReportsKeyThenValueThenLease) {
  PutRequest request = Put("", "v", 1);
  request.ignore_value = true;
  request.ignore_lease = true;
  EXPECT_TRUE(Is(CheckPut(request), kErrEmptyKey));
  request.key = "k";
  EXPECT_TRUE(Is(CheckPut(request), kErrValueProvided));
  request.value = "";
  EXPECT_TRUE(Is(CheckPut(request), kErrLeaseProvided));
  request.lease = 0;
  EXPECT_TRUE(IsOk(CheckPut(request)));
}

TEST(CheckDeleteRangeTest, NeedsAKey) {
  EXPECT_TRUE(Is(CheckDeleteRange(Delete("", "z")), kErrEmptyKey));
  EXPECT_TRUE(IsOk(CheckDeleteRange(Delete("z", "a"))));
}

TEST(CheckTxnTest, TheLongestListIsWhatCounts) {
  const auto gets = [](std::size_t n) {
    Ops ops;
    for (std::size_t i = 0; i < n; ++i) Append(ops, Get("a"));
    return ops;
  };
  EXPECT_TRUE(IsOk(CheckTxn(Txn(gets(3), gets(3)), 3)));
  EXPECT_TRUE(Is(CheckTxn(Txn(gets(4), gets(1)), 3), kErrTooManyOps));
  EXPECT_TRUE(Is(CheckTxn(Txn(gets(1), gets(4)), 3), kErrTooManyOps));
  EXPECT_TRUE(Is(CheckTxn(TxnIf({4, Exists("a")}, gets(1)), 3), kErrTooManyOps));
}

TEST(CheckTxnTest, ANestedTxnMayHaveWhatIsLeft) {
  // 1 here leaves 2 to each nested txn; siblings do not share.
  EXPECT_TRUE(IsOk(CheckTxn(Txn(List(Txn(List(Get("a"), Get("b"))))), 3)));
  EXPECT_TRUE(Is(CheckTxn(Txn(List(Txn(List(Get("a"), Get("b"), Get("c"))))), 3), kErrTooManyOps));
  EXPECT_TRUE(IsOk(CheckTxn(Txn(List(Txn(List(Get("a"))), Txn(List(Get("b"))))), 3)));
}

TEST(CheckTxnTest, AnEmptyNestedTxnFitsInNoRoom) {
  EXPECT_TRUE(IsOk(CheckTxn(Txn(List(Txn({}))), 1)));
  EXPECT_TRUE(Is(CheckTxn(Txn(List(Txn(List(Get("a"))))), 1), kErrTooManyOps));
}

TEST(CheckTxnTest, AnEmptyOperationIsReportedAsAMissingKey) {
  Ops ops;
  ops.emplace_back();
  EXPECT_TRUE(Is(CheckTxn(Txn(std::move(ops)), kMaxOps), kErrKeyNotFound));
}

TEST(CheckTxnTest, ChecksComparesThenSuccessThenFailure) {
  const auto bad = [] { return List(PutKeepingValue("", 1)); };
  EXPECT_TRUE(Is(CheckTxn(TxnIf({Exists("a"), Exists("")}, {}), kMaxOps), kErrEmptyKey));
  PutRequest value = Put("k", "v");
  value.ignore_value = true;
  EXPECT_TRUE(Is(CheckTxn(Txn(List(value), bad()), kMaxOps), kErrValueProvided));
  EXPECT_TRUE(Is(CheckTxn(Txn(bad(), List(value)), kMaxOps), kErrEmptyKey));
}

TEST(CheckTxnTest, RefusesAnUnknownSortTargetInARange) {
  RangeRequest range = Get("a");
  range.sort_target = static_cast<SortTarget>(77);
  EXPECT_TRUE(Is(CheckTxn(Txn(List(range)), kMaxOps), kErrInvalidSortOption));
  EXPECT_TRUE(Is(CheckTxn(Txn({}, List(Txn(List(range)))), kMaxOps), kErrInvalidSortOption));
}

TEST(CheckTxnTest, OtherErrorsComeBeforeDuplicates) {
  EXPECT_TRUE(
      Is(CheckTxn(Txn(List(Put("a", "1"), Put("a", "2")), List(Get(""))), kMaxOps), kErrEmptyKey));
}

struct DuplicateCase {
  std::string name;
  TxnRequest (*txn)();
  bool duplicate;
};

class DuplicateKeyTest : public testing::TestWithParam<DuplicateCase> {};

TEST_P(DuplicateKeyTest, InTheSuccessBranch) {
  const Result<void> result = CheckTxn(GetParam().txn(), kMaxOps);
  EXPECT_TRUE(GetParam().duplicate ? Is(result, kErrDuplicateKey) : IsOk(result));
}
TEST_P(DuplicateKeyTest, InTheFailureBranch) {
  TxnRequest txn = GetParam().txn();
  std::swap(txn.success, txn.failure);
  const Result<void> result = CheckTxn(txn, kMaxOps);
  EXPECT_TRUE(GetParam().duplicate ? Is(result, kErrDuplicateKey) : IsOk(result));
}

INSTANTIATE_TEST_SUITE_P(
    All, DuplicateKeyTest,
    testing::Values(
        DuplicateCase{"TwoPutsOfAKey", [] { return Txn(List(Put("a", "1"), Put("a", "2"))); },
                      true},
        DuplicateCase{"PutsOfDifferentKeys", [] { return Txn(List(Put("a", "1"), Put("b", "2"))); },
                      false},
        DuplicateCase{"APutInEachBranch",
                      [] { return Txn(List(Put("a", "1")), List(Put("a", "2"))); }, false},
        DuplicateCase{"APutAfterItsDelete", [] { return Txn(List(Delete("a"), Put("a", "1"))); },
                      true},
        DuplicateCase{"APutBeforeItsDelete", [] { return Txn(List(Put("a", "1"), Delete("a"))); },
                      true},
        DuplicateCase{"APutInADeletedRange",
                      [] { return Txn(List(Put("b", "1"), Delete("a", "c"))); }, true},
        DuplicateCase{"APutAtTheFirstKeyOfADeletedRange",
                      [] { return Txn(List(Put("a", "1"), Delete("a", "c"))); }, true},
        DuplicateCase{"APutAtTheEndOfADeletedRange",
                      [] { return Txn(List(Put("c", "1"), Delete("a", "c"))); }, false},
        DuplicateCase{"APutRightAfterADeletedKey",
                      [] { return Txn(List(Put(std::string_view("a\0", 2), "1"), Delete("a"))); },
                      false},
        DuplicateCase{"APutWithinTwoOverlappingDeletes",
                      [] { return Txn(List(Delete("a", "c"), Delete("b", "d"), Put("cc", ""))); },
                      true},
        DuplicateCase{"OverlappingDeletes",
                      [] { return Txn(List(Delete("a", "c"), Delete("b"), Delete("b", "d"))); },
                      false},
        DuplicateCase{"AnInvertedDelete", [] { return Txn(List(Delete("c", "a"), Put("b", "1"))); },
                      false},
        DuplicateCase{"ADeleteToTheEndOfTheKeyspaceIsNotSeen",
                      [] { return Txn(List(Delete("a", kOpenEnd), Put("b", "1"))); }, false},
        DuplicateCase{"ANestedPutOfTheSameKey",
                      [] { return Txn(List(Put("a", "1"), Txn(List(Put("a", "2"))))); }, true},
        DuplicateCase{"NestedBranchesMayShareAKey",
                      [] { return Txn(List(Txn(List(Put("a", "1")), List(Put("a", "2"))))); },
                      false},
        DuplicateCase{"SiblingTxnsMayNotShareAKey",
                      [] { return Txn(List(Txn(List(Put("a", "1"))), Txn(List(Put("a", "2"))))); },
                      true},
        DuplicateCase{
            "AnElsePutMeetsAnEarlierSibling",
            [] { return Txn(List(Txn(List(Put("a", "1"))), Txn({}, List(Put("a", "2"))))); }, true},
        DuplicateCase{"ANestedPutInADeleteOfThisLevel",
                      [] { return Txn(List(Txn(List(Put("a", "1"))), Delete("a"))); }, true},
        DuplicateCase{"APutOfThisLevelInANestedDelete",
                      [] { return Txn(List(Put("a", "1"), Txn(List(Delete("a"))))); }, true},
        DuplicateCase{"ANestedPutAfterASiblingsDelete",
                      [] { return Txn(List(Txn(List(Delete("a"))), Txn(List(Put("a", "1"))))); },
                      true},
        DuplicateCase{"ANestedDeleteAfterASiblingsPutIsNotSeen",
                      [] { return Txn(List(Txn(List(Put("a", "1"))), Txn(List(Delete("a"))))); },
                      false},
        DuplicateCase{
            "ADeepPutInADeleteOfTheTop",
            [] { return Txn(List(Txn(List(Txn({}, List(Put("b", ""))))), Delete("a", "c"))); },
            true}),
    [](const auto& param_info) { return param_info.param.name; });

TEST(TxnKindTest, ReadOnlyMeansRangesInBothBranches) {
  EXPECT_TRUE(IsReadOnly(Txn(List(Get("a")), List(Get("b")))));
  EXPECT_TRUE(IsReadOnly(Txn({})));
  EXPECT_FALSE(IsReadOnly(Txn(List(Get("a")), List(Put("b", "")))));
  EXPECT_FALSE(IsReadOnly(Txn(List(Delete("a")))));
}

TEST(TxnKindTest, ANestedTxnIsAWrite) { EXPECT_FALSE(IsReadOnly(Txn(List(Txn(List(Get("a"))))))); }

TEST(TxnKindTest, SerializableMeansThatEveryRangeIs) {
  RangeRequest serializable = Get("a");
  serializable.serializable = true;
  EXPECT_TRUE(IsSerializable(Txn(List(serializable), List(serializable))));
  EXPECT_FALSE(IsSerializable(Txn(List(serializable), List(Get("a")))));
  EXPECT_FALSE(IsSerializable(Txn(List(Txn({})))));
}

TEST(TxnKindTest, WithoutOperationsATxnIsSerializable) {
  EXPECT_TRUE(IsSerializable(TxnIf({Exists("a")}, {})));
}

TEST(QuotaCostTest, APutCostsItsBytesAndOverhead) {
  EXPECT_EQ(QuotaCost(Put("key", "value")), 256U + 3 + 5);
}

TEST(QuotaCostTest, ATxnCostsItsDearerBranchWithWhatIsNested) {
  EXPECT_EQ(QuotaCost(Txn(List(Get("a"), Delete("b")))), 0U);
  EXPECT_EQ(QuotaCost(Txn(List(Put("a", "1")), List(Put("a", "1"), Put("b", "")))), 257U + 258);
  EXPECT_EQ(QuotaCost(Txn(List(Txn(List(Put("a", "1"))), Put("b", "1")))), 258U * 2);
}

// A message of 1.5 MiB can hold this many operations; the check of it must stay cheap.
TEST(CheckTxnTest, DeepAndWideTxnsAreCheckedQuickly) {
  std::vector<std::string> keys;
  for (int i = 0; i < 3 * 3 * 3 * 3 * 3 * 3 * 3 * 3; ++i) keys.push_back(std::to_string(i));
  std::size_t next = 0;
  const auto build = [&](const auto& self, int depth) -> TxnRequest {
    Ops ops;
    if (depth == 0) {
      Append(ops, Put(keys[next++], ""));
      return Txn(std::move(ops));
    }
    for (int i = 0; i < 3; ++i) Append(ops, self(self, depth - 1));
    return Txn(std::move(ops));
  };
  TxnRequest txn = build(build, 8);
  for (int i = 0; i < 50; ++i) txn = Txn(List(Delete("x"), std::move(txn)));
  EXPECT_TRUE(IsOk(CheckTxn(txn, kMaxOps)));
}

}  // namespace
}  // namespace kvorum::mvcc
