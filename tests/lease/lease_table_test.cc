// Leases and the keys attached to them.
#include "lease/lease_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace kvorum::lease {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class LeaseTableTest : public testing::Test {
 protected:
  LeaseTableTest() {
    table_.Add({.id = 1, .ttl_s = 10});
    table_.Add({.id = 2, .ttl_s = 20});
  }
  ~LeaseTableTest() override { table_.CheckInvariants(); }
  std::vector<std::string> Keys(LeaseId id) { return LeaseTable::KeysOf(*table_.Find(id)); }

  LeaseTable table_;
};

TEST_F(LeaseTableTest, AnIdIsTakenOnce) {
  EXPECT_EQ(table_.Add({.id = 1, .ttl_s = 99}), nullptr);
  EXPECT_EQ(table_.Find(1)->record.ttl_s, 10);
  EXPECT_EQ(table_.size(), 2U);
}

TEST_F(LeaseTableTest, KeysComeInTheirOrder) {
  for (const char* key : {"b", "a\xff", "c", "a"}) table_.Attach(key, 1);
  EXPECT_THAT(Keys(1), ElementsAre("a", "a\xff", "b", "c"));
  EXPECT_EQ(table_.LeaseOf("c"), 1);
}

TEST_F(LeaseTableTest, AKeyBelongsToOneLease) {
  table_.Attach("a", 1);
  table_.Attach("b", 1);
  table_.Attach("a", 2);
  EXPECT_THAT(Keys(1), ElementsAre("b"));
  EXPECT_THAT(Keys(2), ElementsAre("a"));
  EXPECT_EQ(table_.attached_keys(), 2U);
}

TEST_F(LeaseTableTest, AttachedToTheSameLeaseTwiceItIsThereOnce) {
  table_.Attach("a", 1);
  table_.Attach("a", 1);
  EXPECT_THAT(Keys(1), ElementsAre("a"));
}

TEST_F(LeaseTableTest, NoLeaseDetaches) {
  table_.Attach("a", 1);
  table_.Attach("b", 1);
  table_.Attach("a", kNoLease);
  EXPECT_THAT(Keys(1), ElementsAre("b"));
  EXPECT_EQ(table_.LeaseOf("a"), kNoLease);
  table_.Attach("never attached", kNoLease);
  EXPECT_EQ(table_.attached_keys(), 1U);
}

TEST_F(LeaseTableTest, ALeaseThatIsNotThereDetachesToo) {
  table_.Attach("a", 1);
  table_.Attach("a", 77);
  EXPECT_EQ(table_.LeaseOf("a"), kNoLease);
  EXPECT_THAT(Keys(1), IsEmpty());
}

TEST_F(LeaseTableTest, ARemovedLeaseTakesItsAttachmentsAlong) {
  for (const char* key : {"a", "b", "c"}) table_.Attach(key, 1);
  table_.Attach("d", 2);
  table_.Remove(1);
  EXPECT_EQ(table_.Find(1), nullptr);
  EXPECT_EQ(table_.LeaseOf("a"), kNoLease);
  EXPECT_EQ(table_.attached_keys(), 1U);
  ASSERT_NE(table_.Add({.id = 1, .ttl_s = 5}), nullptr);
  EXPECT_THAT(Keys(1), IsEmpty());
}

TEST_F(LeaseTableTest, AMovedTableStaysWhole) {
  table_.Attach("a", 1);
  LeaseTable moved = std::move(table_);
  table_ = LeaseTable();
  moved.CheckInvariants();
  EXPECT_THAT(LeaseTable::KeysOf(*moved.Find(1)), ElementsAre("a"));
  EXPECT_EQ(table_.size(), 0U);
}

}  // namespace
}  // namespace kvorum::lease
