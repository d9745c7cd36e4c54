// The rules of Put, DeleteRange and Range (and of their answers), one test per rule.
#include "mvcc/store/store.h"

#include <map>

#include "tests/mvcc/store_fixture.h"

namespace kvorum::mvcc {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// ---- revisions ----

TEST_F(StoreTest, AnEmptyStoreIsAtRevisionOne) {
  EXPECT_EQ(revision(), 1);
  EXPECT_EQ(store->compact_revision(), -1);
  EXPECT_EQ(Range(Get("a")).revision, 1);
}

TEST_F(StoreTest, TheFirstWriteMakesRevisionTwo) {
  EXPECT_EQ(Put("a", "1").revision, 2);
  EXPECT_EQ(revision(), 2);
}

TEST_F(StoreTest, APutAlwaysMakesARevision) {
  Put("a", "1");
  EXPECT_EQ(Put("a", "1").revision, 3);
  EXPECT_THAT(Rows(Get("a")), ElementsAre("a=1 c2 m3 v2"));
}

TEST_F(StoreTest, ADeleteThatFindsNothingMakesNone) {
  Put("a", "1");
  const DeleteRangeResult result = Delete("b", "c");
  EXPECT_EQ(result.deleted, 0);
  EXPECT_EQ(result.revision, 2);
  EXPECT_EQ(revision(), 2);
}

TEST_F(StoreTest, AllDeletionsOfOneCallShareARevision) {
  Put("a", "1");
  Put("b", "1");
  Put("c", "1");
  const DeleteRangeResult result = Delete("a", "c");
  EXPECT_EQ(result.deleted, 2);
  EXPECT_EQ(result.revision, 5);
  EXPECT_THAT(Keys(GetAll()), ElementsAre("c"));
}

TEST_F(StoreTest, ADeleteEndsTheGeneration) {
  Put("a", "1");
  Put("a", "2");
  Delete("a");
  Put("a", "3");
  EXPECT_THAT(Rows(Get("a")), ElementsAre("a=3 c5 m5 v1"));
  EXPECT_THAT(Rows(GetAt(3, "a")), ElementsAre("a=2 c2 m3 v2"));
  EXPECT_THAT(Rows(GetAt(4, "a")), IsEmpty());
}

TEST_F(StoreTest, ADeleteOfMoreKeysThanItTakesInOneStep) {
  {
    WriteTxn txn = store->Begin();
    for (int i = 0; i < 3000; ++i) Ok(txn.Put(mvcc::Put(std::to_string(i), "")));
  }
  Publish();
  EXPECT_EQ(Delete("1", "2").deleted, 1111);
  EXPECT_EQ(Delete(kOpenEnd, kOpenEnd).deleted, 3000 - 1111);
  EXPECT_EQ(Range(GetAll()).count, 0);
}

TEST_F(StoreTest, WritesAreHiddenUntilTheyArePublished) {
  WriteTxn txn = store->Begin();
  Ok(txn.Put(mvcc::Put("a", "1")));
  txn.End();
  EXPECT_THAT(Keys(GetAll()), IsEmpty());
  EXPECT_EQ(revision(), 1);
  EXPECT_EQ(store->working_revision(), 2);
  Publish();
  EXPECT_THAT(Keys(GetAll()), ElementsAre("a"));
  EXPECT_EQ(revision(), 2);
}

TEST_F(StoreTest, AViewNeverChanges) {
  Put("a", "1");
  Put("b", "1");
  ReadView view = Ok(store->Read());
  Put("a", "2");
  Delete("b");
  Compact(5);
  Settle();
  EXPECT_EQ(view.revision(), 3);
  EXPECT_THAT(Show(Ok(view.Range(GetAll())).rows), ElementsAre("a=1 c2 m2 v1", "b=1 c3 m3 v1"));
  EXPECT_THAT(Show(Ok(view.Range(GetAt(2, "a", "z"))).rows), ElementsAre("a=1 c2 m2 v1"));
}

TEST_F(StoreTest, ALookAheadChangesNoAnswer) {
  StoreHarness lmdb(Kind::kLmdb);
  for (StoreHarness* harness : {static_cast<StoreHarness*>(this), &lmdb}) {
    harness->Put("durable", "1");
    harness->Put("deleted", "1");
    harness->Delete("deleted");
    harness->Settle();
    harness->Put("buffered", "1");
    ReadView view = Ok(harness->store->Read());
    const std::vector<std::string_view> asked{"", "buffered", "deleted", "durable", "missing"};
    view.LookAhead(asked);
    view.LookAhead({});
    EXPECT_THAT(Show(Ok(view.Range(GetAll())).rows),
                ElementsAre("buffered=1 c5 m5 v1", "durable=1 c2 m2 v1"));
  }
}

// ---- put ----

TEST_F(StoreTest, APutAnswersThePreviousPairIfAskedTo) {
  EXPECT_TRUE(Put(WithPrevKv(mvcc::Put("a", "1"))).prev_kv.empty());
  EXPECT_EQ(Show(Put(WithPrevKv(mvcc::Put("a", "2"))).prev_kv.view()), "a=1 c2 m2 v1");
  EXPECT_TRUE(Put("a", "3").prev_kv.empty());
}

TEST_F(StoreTest, APutFindsThePreviousPairOnDiskToo) {
  Put("a", "1");
  Settle();
  EXPECT_EQ(Show(Put(WithPrevKv(mvcc::Put("a", "2"))).prev_kv.view()), "a=1 c2 m2 v1");
}

TEST_F(StoreTest, APutWithoutALeaseDetachesTheKey) {
  leases.leases = {7};
  Put("a", "1", 7);
  EXPECT_THAT(Rows(Get("a")), ElementsAre("a=1 c2 m2 v1 l7"));
  Put("a", "2");
  EXPECT_THAT(Rows(Get("a")), ElementsAre("a=2 c2 m3 v2"));
}

TEST_F(StoreTest, APutToAnUnknownLeaseIsRefused) {
  EXPECT_TRUE(FailsWith(TryPut(mvcc::Put("a", "1", 7)), kErrLeaseNotFound));
  EXPECT_EQ(revision(), 1);
  EXPECT_THAT(Keys(GetAll()), IsEmpty());
}

TEST_F(StoreTest, IgnoreValueKeepsTheValue) {
  leases.leases = {7};
  Put("a", "1");
  Put(PutKeepingValue("a", 7));
  EXPECT_THAT(Rows(Get("a")), ElementsAre("a=1 c2 m3 v2 l7"));
}

TEST_F(StoreTest, IgnoreLeaseKeepsTheLease) {
  leases.leases = {7};
  Put("a", "1", 7);
  Put(PutKeepingLease("a", "2"));
  EXPECT_THAT(Rows(Get("a")), ElementsAre("a=2 c2 m3 v2 l7"));
}

TEST_F(StoreTest, IgnoreValueAndIgnoreLeaseNeedTheKey) {
  EXPECT_TRUE(FailsWith(TryPut(PutKeepingValue("a")), kErrKeyNotFound));
  EXPECT_TRUE(FailsWith(TryPut(PutKeepingLease("a", "1")), kErrKeyNotFound));
  Put("a", "1");
  Delete("a");
  EXPECT_TRUE(FailsWith(TryPut(PutKeepingValue("a")), kErrKeyNotFound));
  EXPECT_EQ(revision(), 3);
}

TEST_F(StoreTest, TheLeaseIsLookedForBeforeTheKey) {
  EXPECT_TRUE(FailsWith(TryPut(PutKeepingValue("a", 7)), kErrLeaseNotFound));
}

TEST_F(StoreTest, AMebibyteIsALegalKeyAndValue) {
  const std::string large(1 << 20, 'k');
  Put(large, large);
  Settle();
  Reopen();
  const RangeResult result = Range(Get(large));
  ASSERT_EQ(result.rows.size(), 1U);
  EXPECT_EQ(Ok(DecodeKeyValue(result.rows[0])).value, large);
}

// ---- delete ----

TEST_F(StoreTest, ADeleteAnswersThePreviousPairsInKeyOrder) {
  Put("b", "2");
  Put("a", "1");
  EXPECT_THAT(Show(Delete(WithPrevKv(mvcc::Delete("a", "z"))).prev_kvs),
              ElementsAre("a=1 c3 m3 v1", "b=2 c2 m2 v1"));
}

TEST_F(StoreTest, AnInvertedRangeIsEmpty) {
  Put("b", "1");
  EXPECT_EQ(Delete("c", "a").deleted, 0);
  EXPECT_EQ(Range(Get("c", "a")).count, 0);
  EXPECT_EQ(Range(Get("b", "b")).count, 0);
}

// ---- range ----

class RangeTest : public StoreTest {
 protected:
  // Revisions: b 2, a 3, c 4, a again 5, d 6.
  RangeTest() {
    Put("b", "3");
    Put("a", "0");
    Put("c", "1");
    Put("a", "4");
    Put("d", "2");
  }
  RangeRequest Sorted(SortTarget target, SortOrder order, std::int64_t limit = 0) {
    RangeRequest request = GetAll();
    request.sort_target = target;
    request.sort_order = order;
    request.limit = limit;
    return request;
  }
};

TEST_F(RangeTest, AnEmptyRangeEndMeansOneKey) { EXPECT_THAT(Keys(Get("a")), ElementsAre("a")); }

TEST_F(RangeTest, TheRangeEndIsExclusive) {
  EXPECT_THAT(Keys(Get("a", "c")), ElementsAre("a", "b"));
}

TEST_F(RangeTest, AZeroByteEndMeansEverythingFromTheKey) {
  EXPECT_THAT(Keys(Get("b", kOpenEnd)), ElementsAre("b", "c", "d"));
  EXPECT_THAT(Keys(GetAll()), ElementsAre("a", "b", "c", "d"));
}

TEST_F(RangeTest, ReadsAnOlderRevision) {
  EXPECT_THAT(Rows(GetAt(3, kOpenEnd, kOpenEnd)), ElementsAre("a=0 c3 m3 v1", "b=3 c2 m2 v1"));
  EXPECT_EQ(Range(GetAt(3, kOpenEnd, kOpenEnd)).revision, 6);
  EXPECT_EQ(Range(GetAt(3, kOpenEnd, kOpenEnd)).count, 2);
}

TEST_F(RangeTest, ANegativeRevisionMeansTheNewest) {
  EXPECT_EQ(Range(GetAt(-5, kOpenEnd, kOpenEnd)).count, 4);
}

TEST_F(RangeTest, AFutureRevisionIsRefused) {
  EXPECT_TRUE(FailsWith(TryRange(GetAt(7, "a")), kErrFutureRev));
}

TEST_F(RangeTest, BelowTheCompactedRevisionIsRefusedAndAtItIsNot) {
  Compact(5);
  EXPECT_TRUE(FailsWith(TryRange(GetAt(4, "a")), kErrCompacted));
  EXPECT_THAT(Rows(GetAt(5, "a")), ElementsAre("a=4 c3 m5 v2"));
}

TEST_F(RangeTest, TheLimitCutsAndMoreSaysSo) {
  RangeRequest request = GetAll();
  request.limit = 2;
  RangeResult result = Range(request);
  EXPECT_THAT(KeysOf(result.rows), ElementsAre("a", "b"));
  EXPECT_TRUE(result.more);
  EXPECT_EQ(result.count, 4);
  request.limit = 4;
  result = Range(request);
  EXPECT_EQ(result.rows.size(), 4U);
  EXPECT_FALSE(result.more);
}

TEST_F(RangeTest, ALimitBelowOneMeansNone) {
  RangeRequest request = GetAll();
  request.limit = -1;
  EXPECT_EQ(Range(request).rows.size(), 4U);
  EXPECT_FALSE(Range(request).more);
}

TEST_F(RangeTest, TheLargestLimitCutsNothing) {
  RangeRequest request = Sorted(SortTarget::kMod, SortOrder::kNone, INT64_MAX);
  EXPECT_EQ(Range(request).rows.size(), 4U);
}

TEST_F(RangeTest, CountOnlyAnswersNoRows) {
  RangeRequest request = GetAll();
  request.count_only = true;
  request.limit = 1;
  const RangeResult result = Range(request);
  EXPECT_EQ(result.count, 4);
  EXPECT_TRUE(result.rows.empty());
  EXPECT_FALSE(result.more);
  request = Get("a");
  request.count_only = true;
  EXPECT_EQ(Range(request).count, 1);
  EXPECT_TRUE(Range(request).rows.empty());
}

TEST_F(RangeTest, SortsByEachTarget) {
  EXPECT_THAT(Keys(Sorted(SortTarget::kKey, SortOrder::kAscend)), ElementsAre("a", "b", "c", "d"));
  EXPECT_THAT(Keys(Sorted(SortTarget::kVersion, SortOrder::kAscend)),
              ElementsAre("b", "c", "d", "a"));
  EXPECT_THAT(Keys(Sorted(SortTarget::kCreate, SortOrder::kAscend)),
              ElementsAre("b", "a", "c", "d"));
  EXPECT_THAT(Keys(Sorted(SortTarget::kMod, SortOrder::kAscend)), ElementsAre("b", "c", "a", "d"));
  EXPECT_THAT(Keys(Sorted(SortTarget::kValue, SortOrder::kAscend)),
              ElementsAre("c", "d", "b", "a"));
}

TEST_F(RangeTest, SortsDownwards) {
  EXPECT_THAT(Keys(Sorted(SortTarget::kKey, SortOrder::kDescend)), ElementsAre("d", "c", "b", "a"));
  EXPECT_THAT(Keys(Sorted(SortTarget::kMod, SortOrder::kDescend)), ElementsAre("d", "a", "c", "b"));
  EXPECT_THAT(Keys(Sorted(SortTarget::kValue, SortOrder::kDescend)),
              ElementsAre("a", "b", "d", "c"));
}

TEST_F(RangeTest, AnotherTargetThanTheKeyWithoutAnOrderSortsUpwards) {
  EXPECT_THAT(Keys(Sorted(SortTarget::kMod, SortOrder::kNone)), ElementsAre("b", "c", "a", "d"));
}

TEST_F(RangeTest, AnOrderIsAppliedBeforeTheLimit) {
  const RangeResult result = Range(Sorted(SortTarget::kMod, SortOrder::kAscend, 2));
  EXPECT_THAT(KeysOf(result.rows), ElementsAre("b", "c"));
  EXPECT_TRUE(result.more);
  EXPECT_THAT(Keys(Sorted(SortTarget::kKey, SortOrder::kDescend, 1)), ElementsAre("d"));
  EXPECT_TRUE(Range(Sorted(SortTarget::kKey, SortOrder::kDescend, 3)).more);
  EXPECT_FALSE(Range(Sorted(SortTarget::kKey, SortOrder::kDescend, 4)).more);
}

// QUIRK: the first limit + 1 by key are taken, then sorted, then cut.
TEST_F(RangeTest, WithoutAnOrderTheLimitIsAppliedBeforeTheSort) {
  RangeResult result = Range(Sorted(SortTarget::kMod, SortOrder::kNone, 1));
  EXPECT_THAT(KeysOf(result.rows), ElementsAre("b"));  // of a and b
  EXPECT_TRUE(result.more);
  result = Range(Sorted(SortTarget::kValue, SortOrder::kNone, 1));
  EXPECT_THAT(KeysOf(result.rows), ElementsAre("b"));  // c and d have smaller values
  EXPECT_EQ(result.count, 4);
}

TEST_F(RangeTest, FiltersComeBeforeTheLimitButNotBeforeTheCount) {
  RangeRequest request = GetAll();
  request.min_mod_revision = 4;
  request.limit = 2;
  RangeResult result = Range(request);
  EXPECT_THAT(KeysOf(result.rows), ElementsAre("a", "c"));
  EXPECT_TRUE(result.more);
  EXPECT_EQ(result.count, 4);
  request.limit = 3;
  EXPECT_FALSE(Range(request).more);
}

TEST_F(RangeTest, EachFilterIsInclusive) {
  RangeRequest request = GetAll();
  request.max_mod_revision = 4;
  EXPECT_THAT(Keys(request), ElementsAre("b", "c"));
  request = GetAll();
  request.min_create_revision = 4;
  EXPECT_THAT(Keys(request), ElementsAre("c", "d"));
  request = GetAll();
  request.max_create_revision = 3;
  EXPECT_THAT(Keys(request), ElementsAre("a", "b"));
  request = Get("a");
  request.max_mod_revision = 4;
  EXPECT_TRUE(Range(request).rows.empty());
  EXPECT_EQ(Range(request).count, 1);
}

TEST_F(RangeTest, FiltersTurnTheLimitQuirkOff) {
  RangeRequest request = Sorted(SortTarget::kMod, SortOrder::kNone, 1);
  request.min_mod_revision = 3;
  EXPECT_THAT(Keys(request), ElementsAre("c"));
}

TEST_F(RangeTest, KeysOnlyComesFromTheIndexWithoutTheLease) {
  leases.leases = {7};
  Put("a", "9", 7);
  RangeRequest request = Get("a", "c");
  request.keys_only = true;
  EXPECT_THAT(Rows(request), ElementsAre("a= c3 m7 v3", "b= c2 m2 v1"));
  request = Get("a");
  request.keys_only = true;
  EXPECT_THAT(Rows(request), ElementsAre("a= c3 m7 v3"));
}

TEST_F(RangeTest, KeysOnlySortedByValueKeepsTheLease) {
  leases.leases = {7};
  Put("a", "9", 7);
  RangeRequest request = Get("a", "c");
  request.keys_only = true;
  request.sort_target = SortTarget::kValue;
  request.sort_order = SortOrder::kDescend;
  EXPECT_THAT(Rows(request), ElementsAre("a= c3 m7 v3 l7", "b= c2 m2 v1"));
}

TEST_F(RangeTest, EqualRowsStayInKeyOrder) {
  Put("e", "4");
  EXPECT_THAT(Keys(Sorted(SortTarget::kValue, SortOrder::kDescend)),
              ElementsAre("a", "e", "b", "d", "c"));
  EXPECT_THAT(Keys(Sorted(SortTarget::kVersion, SortOrder::kAscend)),
              ElementsAre("b", "c", "d", "e", "a"));
}

TEST_F(RangeTest, ALimitedSortOfManyRowsEqualsTheUnlimitedOne) {
  for (int i = 0; i < 500; ++i) {
    Put(std::to_string(i * 7919 % 500), std::to_string(i * 104729 % 97));
  }
  const std::vector<std::string> all = Keys(Sorted(SortTarget::kValue, SortOrder::kDescend));
  ASSERT_EQ(all.size(), 504U);
  for (const std::size_t limit : {1U, 2U, 7U, 100U, 503U, 504U, 505U}) {
    const RangeResult result =
        Range(Sorted(SortTarget::kValue, SortOrder::kDescend, static_cast<std::int64_t>(limit)));
    const std::vector<std::string> expected(
        all.begin(), all.begin() + static_cast<std::ptrdiff_t>(std::min(limit, all.size())));
    EXPECT_EQ(KeysOf(result.rows), expected) << limit;
    EXPECT_EQ(result.more, limit < all.size()) << limit;
  }
}

TEST_F(RangeTest, TheEstimateIsWhatIsLookedAt) {
  const auto estimate = [this](const auto& request) {
    return Ok(store->Read()).EstimateRows(request, 1000);
  };
  EXPECT_EQ(estimate(Get("a")), 1);
  EXPECT_EQ(estimate(GetAll()), 4);
  EXPECT_EQ(estimate(Sorted(SortTarget::kKey, SortOrder::kDescend, 2)), 2);
  EXPECT_EQ(estimate(Sorted(SortTarget::kMod, SortOrder::kDescend, 2)), 4);
  RangeRequest count = GetAll();
  count.count_only = true;
  EXPECT_EQ(estimate(count), 1);
  EXPECT_EQ(estimate(TxnIf({Exists("a")}, List(GetAll()), List(Get("a", "c")))), 1 + 4 + 2);
  // At an old revision dead keys are looked at, with any limit, and to be counted as well.
  count.revision = revision();
  const RangeRequest page = [&] {
    RangeRequest request = GetAll();
    request.revision = revision();
    request.limit = 1;
    return request;
  }();
  Delete("", kOpenEnd);
  EXPECT_EQ(estimate(GetAll()), 0);
  EXPECT_EQ(estimate(count), 4);
  EXPECT_EQ(estimate(page), 4);
}

TEST_F(RangeTest, AnswersTheSameFromDiskAndAfterAStart) {
  const std::vector<std::string> rows = Rows(GetAll());
  Settle();
  EXPECT_EQ(Rows(GetAll()), rows);
  Reopen();
  EXPECT_EQ(Rows(GetAll()), rows);
  EXPECT_EQ(revision(), 6);
}

// ---- buckets and the consistent index ----

TEST_F(StoreTest, DataAndConsistentIndexAreDurableTogether) {
  store->PutBucket(Bucket::kMeta, meta_key::kConfState, "{}");
  store->PutBucket(Bucket::kAlarm, "alarm", "");
  store->PutBucket(Bucket::kAlarm, "other", "x");
  {
    WriteTxn txn = store->Begin();
    Ok(txn.Put(mvcc::Put("a", "1")));
  }
  store->Publish(5, 3);
  store->DeleteBucket(Bucket::kAlarm, "other");
  store->Publish(6, 3);
  Settle();
  EXPECT_EQ(durable_index, 6U);
  Reopen();
  EXPECT_EQ(store->recovered().consistent_index, 6U);
  EXPECT_EQ(store->recovered().term, 3U);
  EXPECT_EQ(store->recovered().conf_state, "{}");
  EXPECT_THAT(Keys(GetAll()), ElementsAre("a"));
  std::vector<std::string> alarms;
  Ok(store->ForEach(Bucket::kAlarm, [&](std::string_view key, std::string_view value) {
    alarms.push_back(std::string(key).append("=").append(value));
  }));
  EXPECT_THAT(alarms, ElementsAre("alarm="));
}

TEST_F(StoreTest, NamesLongerThanTheBackendTakesAreKeptAndGo) {
  std::map<std::string, std::string> users;
  for (const std::size_t size : {1U, 480U, 493U, 494U, 510U, 511U, 32'768U}) {
    const std::string name(size, 'n');
    users[name] = "of " + std::to_string(size);
    store->PutBucket(Bucket::kAuthUsers, name, users[name]);
    store->PutBucket(Bucket::kAuthUsers, name + " goes", "");
  }
  Publish();
  Settle();
  for (const auto& [name, value] : users) store->DeleteBucket(Bucket::kAuthUsers, name + " goes");
  Publish();
  Settle();
  Reopen();
  std::map<std::string, std::string> found;
  Ok(store->ForEach(Bucket::kAuthUsers, [&](std::string_view name, std::string_view value) {
    found.emplace(name, value);
  }));
  EXPECT_TRUE(found == users);
}

TEST_F(StoreTest, WhatWasNotCommittedIsGoneWithItsIndex) {
  Put("a", "1");
  Settle();
  Put("b", "1");
  Reopen();
  EXPECT_EQ(store->recovered().consistent_index, 1U);
  EXPECT_THAT(Keys(GetAll()), ElementsAre("a"));
  EXPECT_EQ(revision(), 2);
}

TEST_F(StoreTest, TheFirstBatchMayBeOlderThanAnyTermOrIndex) {
  EXPECT_EQ(store->recovered().consistent_index, 0U);
  EXPECT_EQ(store->recovered().term, 0U);
  EXPECT_EQ(store->recovered().conf_state, "");
}

TEST_F(StoreTest, AFullBufferMakesTheNextBatchWait) {
  options.buffer.limit_bytes = 1000;
  Reopen();
  EXPECT_TRUE(store->HasRoom());
  const std::string value(2000, 'v');
  Put("a", value);
  EXPECT_FALSE(store->HasRoom());
  bool resumed = false;
  store->WhenRoom([&] { resumed = true; });
  EXPECT_FALSE(resumed);
  Settle();
  EXPECT_TRUE(resumed);
  EXPECT_TRUE(store->HasRoom());
}

TEST_F(StoreTest, CountsWhatItDoes) {
  Put("a", "12");
  Txn(mvcc::Txn(List(mvcc::Put("b", "1"), Get("a"), mvcc::Delete("c"))));
  Range(Get("a"));
  const StoreCounters::Values counters = store->counters();
  EXPECT_EQ(counters.puts, 2U);
  EXPECT_EQ(counters.put_bytes, 3U + 2);
  EXPECT_EQ(counters.deletes, 1U);
  EXPECT_EQ(counters.ranges, 2U);
  EXPECT_EQ(counters.txns, 1U);
}

using StoreDeathTest = StoreTest;

TEST_F(StoreDeathTest, TheConsistentIndexNeverGoesBack) {
  Put("a", "1");
  EXPECT_DEATH(store->Publish(0, 1), "goes back");
}

}  // namespace
}  // namespace kvorum::mvcc
