#include "server/state/quota.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/mvcc/store_fixture.h"

namespace kvorum::server {
namespace {

class QuotaTest : public testing::Test, public mvcc::StoreHarness {};

TEST_F(QuotaTest, AWriteFitsBelowTheLimitOnly) {
  Put("k", "v");
  Settle();
  ASSERT_EQ(store->PendingBytes(), 0);
  const std::uint64_t size = store->SizeInUseBytes();
  ASSERT_GT(size, 0);
  EXPECT_TRUE(Quota(*store, size + 301).Fits(300));
  EXPECT_FALSE(Quota(*store, size + 300).Fits(300)) << "it would reach the limit";
  EXPECT_FALSE(Quota(*store, 1).Fits(1));
}

TEST_F(QuotaTest, WhatWaitsForTheBackendCounts) {
  Settle();
  const std::uint64_t size = store->SizeInUseBytes();
  const Quota quota(*store, size + 1'300);
  EXPECT_TRUE(quota.Fits(300));
  Put("k", std::string(1'000, 'v'));
  EXPECT_GE(store->PendingBytes(), 1'000);
  EXPECT_FALSE(quota.Fits(300));
}

TEST_F(QuotaTest, WhatCostsNothingFitsAlwaysAndWithoutAQuotaEverythingDoes) {
  Put("k", "v");
  EXPECT_TRUE(Quota(*store, 1).Fits(0));
  EXPECT_TRUE(Quota(*store, 0).Fits(std::numeric_limits<std::uint64_t>::max()));
}

TEST_F(QuotaTest, AnAlarmEndsWithATenthToSpare) {
  Put("k", "v");
  Settle();
  const std::uint64_t size = store->SizeInUseBytes();
  EXPECT_FALSE(Quota(*store, size + size / 10).HasRoomToSpare());
  EXPECT_TRUE(Quota(*store, size + size / 8).HasRoomToSpare());
  EXPECT_TRUE(Quota(*store, 0).HasRoomToSpare());
}

TEST_F(QuotaTest, PagesThatCompactionHasFreedAreRoom) {
  for (int i = 0; i < 100; ++i) Put("k", std::string(4'000, 'v'));
  Settle();
  const Quota quota(*store, store->SizeInUseBytes());
  ASSERT_FALSE(quota.Fits(1));
  const std::uint64_t file = store->SizeBytes();
  Compact(store->revision());
  Settle();
  EXPECT_TRUE(quota.Fits(1));
  EXPECT_GE(store->SizeBytes(), file);
}

}  // namespace
}  // namespace kvorum::server
