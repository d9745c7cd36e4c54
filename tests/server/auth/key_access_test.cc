// The permissions that each part of a request needs, nested ones and those of leases' keys too.
#include "server/state/key_access.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "tests/auth/store_fixture.h"

namespace kvorum::server {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

mvcc::RangeRequest Range(std::string_view key, std::string_view range_end = {}) {
  return {.key = key, .range_end = range_end};
}
mvcc::DeleteRangeRequest Delete(std::string_view key, std::string_view range_end = {}) {
  return {.key = key, .range_end = range_end};
}
mvcc::DeleteRangeRequest DeleteAndReturn(std::string_view key, std::string_view range_end) {
  return {.key = key, .range_end = range_end, .prev_kv = true};
}
mvcc::PutRequest Put(std::string_view key, lease::LeaseId lease = lease::kNoLease) {
  return {.key = key, .value = {}, .lease = lease};
}
mvcc::PutRequest PutAndReturn(std::string_view key, lease::LeaseId lease = lease::kNoLease) {
  return {.key = key, .value = {}, .lease = lease, .prev_kv = true};
}
mvcc::Compare CompareKey(std::string_view key, std::string_view range_end = {}) {
  return {.key = key, .range_end = range_end, .value = {}};
}

// Ann may read [a, c) and write [b, d).
class KeyAccessTest : public auth::StoreFixture {
 protected:
  KeyAccessTest() {
    EnableAuth();
    AddUser("ann");
    Do(store_.AddRole("r"));
    Do(store_.GrantRole("ann", "r"));
    Grant("r", auth::PermissionType::kRead, "a", "c");
    Grant("r", auth::PermissionType::kWrite, "b", "d");
  }

  template <class Request>
  Result<void> Check(const Request& request, std::string_view user = "ann") {
    const auto now = state();
    const auth::Identity identity = Now(user);
    return KeyAccess(*now, identity, keys_).Check(request);
  }
  Result<void> CheckLease(lease::LeaseId id, std::string_view user = "ann") {
    const auto now = state();
    const auth::Identity identity = Now(user);
    return KeyAccess(*now, identity, keys_).CheckLease(id);
  }
  static void ExpectOk(const Result<void>& result) {
    EXPECT_TRUE(result.has_value()) << result.error().message;
  }
  static void ExpectDenied(const Result<void>& result) {
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error(), kErrPermissionDenied);
  }

  std::map<lease::LeaseId, std::vector<std::string>> leases_;
  std::vector<std::string> visited_;
  LeaseKeys keys_ = [this](lease::LeaseId id, const VisitKey& visit) {
    for (const std::string& key : leases_[id]) {
      visited_.push_back(key);
      if (!visit(key)) return false;
    }
    return true;
  };
};

TEST_F(KeyAccessTest, ARangeReads) {
  ExpectOk(Check(Range("a", "c")));
  ExpectDenied(Check(Range("a", "d")));
  ExpectDenied(Check(Range("c")));
}

TEST_F(KeyAccessTest, APutWritesAndReadsWhatItReturns) {
  ExpectOk(Check(Put("c")));
  ExpectDenied(Check(Put("a")));
  ExpectDenied(Check(PutAndReturn("c")));
  ExpectOk(Check(PutAndReturn("b")));
}

TEST_F(KeyAccessTest, ADeletionWritesAndReadsWhatItReturns) {
  ExpectOk(Check(Delete("b", "d")));
  ExpectDenied(Check(Delete("a", "d")));
  ExpectDenied(Check(DeleteAndReturn("b", "d")));
  ExpectOk(Check(DeleteAndReturn("b", "c")));
}

TEST_F(KeyAccessTest, AComparisonReads) {
  mvcc::TxnRequest txn;
  txn.compare.push_back(CompareKey("b"));
  ExpectOk(Check(txn));
  txn.compare.push_back(CompareKey("b", "d"));
  ExpectDenied(Check(txn));
}

// Which one runs must not tell what a key holds that the caller may not read.
TEST_F(KeyAccessTest, BothBranchesOfATxnAreChecked) {
  mvcc::TxnRequest success;
  success.success.emplace_back(Put("a"));
  ExpectDenied(Check(success));
  mvcc::TxnRequest failure;
  failure.success.emplace_back(Put("b"));
  ExpectOk(Check(failure));
  failure.failure.emplace_back(Delete("a"));
  ExpectDenied(Check(failure));
}

TEST_F(KeyAccessTest, ATxnInATxnIsCheckedAtEachDepth) {
  const auto nested = [](std::string_view key) {
    mvcc::TxnRequest inner;
    inner.failure.emplace_back(Range(key));
    mvcc::TxnRequest middle;
    middle.success.emplace_back(std::make_unique<mvcc::TxnRequest>(std::move(inner)));
    mvcc::TxnRequest outer;
    outer.failure.emplace_back(std::make_unique<mvcc::TxnRequest>(std::move(middle)));
    return outer;
  };
  ExpectOk(Check(nested("a")));
  ExpectDenied(Check(nested("c")));
}

// CheckTxn refuses it as malformed; here there is nothing in it to deny.
TEST_F(KeyAccessTest, AnOperationThatCarriesNothingNeedsNothing) {
  mvcc::TxnRequest txn;
  txn.success.emplace_back();
  ExpectOk(Check(txn));
}

TEST_F(KeyAccessTest, ALeaseNeedsItsKeysToBeWritable) {
  leases_[7] = {"b", "c"};
  ExpectOk(CheckLease(7));
  ExpectOk(Check(Put("b", 7)));
  leases_[8] = {"b", "a", "c"};
  visited_.clear();
  ExpectDenied(CheckLease(8));
  EXPECT_THAT(visited_, ElementsAre("b", "a")) << "as far as the first that denies it";
  ExpectDenied(Check(Put("b", 8)));
  mvcc::TxnRequest txn;
  txn.success.emplace_back(Put("b", 8));
  ExpectDenied(Check(txn));
}

// All leases of a request together.
TEST_F(KeyAccessTest, NoMoreKeysOfLeasesAreLookedAtThanTheCallerAllows) {
  leases_[7] = {"b", "b1"};
  leases_[8] = {"c", "c1"};
  mvcc::TxnRequest txn;
  txn.success.emplace_back(Put("b", 7));
  txn.failure.emplace_back(Put("b", 8));
  const auto now = state();
  const auth::Identity ann = Now("ann");
  ExpectOk(KeyAccess(*now, ann, keys_, 4).Check(txn));
  visited_.clear();
  const Result<void> unknown = KeyAccess(*now, ann, keys_, 3).Check(txn);
  ASSERT_FALSE(unknown.has_value());
  EXPECT_EQ(unknown.error(), kManyLeaseKeys);
  EXPECT_THAT(visited_, ElementsAre("b", "b1", "c", "c1")) << "the last one only to know of it";
  leases_[8] = {"a", "c"};
  ExpectDenied(KeyAccess(*now, ann, keys_, 3).Check(txn));
}

TEST_F(KeyAccessTest, ALeaseWithoutKeysOrThatThereIsNotNeedsNothing) {
  ExpectOk(CheckLease(99));
  ExpectOk(CheckLease(lease::kNoLease));
}

TEST_F(KeyAccessTest, AKeyThatIsDeniedIsRefusedBeforeItsLeaseIsLookedAt) {
  leases_[7] = {"b"};
  ExpectDenied(Check(Put("a", 7)));
  EXPECT_THAT(visited_, IsEmpty());
}

TEST_F(KeyAccessTest, ALeaseThatOneRequestNamesAgainIsLookedAtOnceIfItIsAllowed) {
  leases_[7] = {"b"};
  mvcc::TxnRequest txn;
  for (int i = 0; i < 3; ++i) txn.success.emplace_back(Put("b", 7));
  ExpectOk(Check(txn));
  EXPECT_THAT(visited_, ElementsAre("b"));
}

TEST_F(KeyAccessTest, RootMayDoEverythingAndNoLeaseIsLookedAtForIt) {
  leases_[7] = {"z"};
  ExpectOk(Check(PutAndReturn("z", 7), "root"));
  EXPECT_THAT(visited_, IsEmpty());
}

TEST_F(KeyAccessTest, WhileAuthIsOffNothingIsLookedAt) {
  Do(store_.Disable());
  leases_[7] = {"z"};
  ExpectOk(Check(Put("z", 7), ""));
  EXPECT_THAT(visited_, IsEmpty());
}

TEST_F(KeyAccessTest, NobodyAndWhoIsUnknownAreRefused) {
  const auto now = state();
  const auth::Identity nobody;
  const Result<void> refused = KeyAccess(*now, nobody, keys_).Check(Range("a"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), kErrUserEmpty);
  ExpectDenied(Check(Range("a"), "bob"));
}

TEST_F(KeyAccessTest, AnIdentityOlderThanAChangeOfItsUserIsRefused) {
  const auth::Identity old = Now("ann");
  Do(store_.RevokeRole("ann", "r"));
  const auto now = state();
  const Result<void> refused = KeyAccess(*now, old, keys_).Check(Range("a"));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error(), kErrAuthOldRevision);
}

}  // namespace
}  // namespace kvorum::server
