// The reads of one batch share a view, as long as it is young.
#include "server/call/held_view.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "mvcc/store/read_batch.h"
#include "tests/server/auth/auth_fixture.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

class HeldViewTest : public testing::Test {
 protected:
  HeldViewTest() { EXPECT_TRUE(served_.Start().has_value()); }

  void Put() {
    EXPECT_TRUE(served_.Call("/etcdserverpb.KV/Put", PutBody("key", "value")).has_value());
  }
  HeldView Take(HeldView::Age age = HeldView::Age::kShared) {
    return HeldView::Take(served_.member().store(), age).value();
  }

  ServedMember served_;
};

TEST_F(HeldViewTest, AReadByItselfSeesTheNewestState) {
  const std::int64_t before = Take()->revision();
  Put();
  EXPECT_EQ(Take()->revision(), before + 1);
}

TEST_F(HeldViewTest, TheReadsOfABatchSeeOneState) {
  const mvcc::ReadBatch batch;
  const std::int64_t before = Take()->revision();
  Put();
  EXPECT_EQ(Take()->revision(), before);
}

TEST_F(HeldViewTest, OneThatAsksForAFreshViewGetsIt) {
  const mvcc::ReadBatch batch;
  const std::int64_t before = Take()->revision();
  Put();
  EXPECT_EQ(Take(HeldView::Age::kFresh)->revision(), before + 1);
  EXPECT_EQ(Take()->revision(), before + 1) << "shared from then on";
}

TEST_F(HeldViewTest, AViewIsGivenToABoundedNumberOfReads) {
  mvcc::ReadBatch batch;
  const std::int64_t before = Take()->revision();
  Put();
  int reads = 0;
  while (Take()->revision() == before) {
    batch.EndRead();
    ASSERT_LT(++reads, 1'000);
  }
  EXPECT_EQ(reads, 64);
}

// A thread that held two would keep a backend that must grow its map from ever doing so.
TEST_F(HeldViewTest, AViewThatTheThreadTakesOtherwiseTakesTheSharedOneAway) {
  const mvcc::ReadBatch batch;
  const std::int64_t before = Take()->revision();
  Put();
  EXPECT_EQ(served_.member().store().Read()->revision(), before + 1);
  EXPECT_EQ(Take()->revision(), before + 1);
}

TEST_F(HeldViewTest, NothingIsSharedBehindTheBatch) {
  std::int64_t before = 0;
  {
    const mvcc::ReadBatch batch;
    before = Take()->revision();
    Put();
  }
  EXPECT_EQ(Take()->revision(), before + 1);
}

using AuthOfABatchTest = AuthTest;

// The states of a few views are kept.
TEST_F(AuthOfABatchTest, AViewWhoseStateIsForgottenIsReplaced) {
  EXPECT_EQ(PutAs(alice_, "a"), kNone);
  const mvcc::ReadBatch batch;
  mvcc::Store& store = served_.member().store();
  const std::uint64_t before = HeldView::Take(store).value()->side_version();
  EXPECT_EQ(RangeAs(alice_, "a"), kNone);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(AddRole(root_, "role " + std::to_string(i)), kNone);
  ASSERT_EQ(HeldView::Take(store).value()->side_version(), before);
  EXPECT_EQ(RangeAs(alice_, "a"), kNone);
  EXPECT_EQ(RangeAs(alice_, "c"), kErrPermissionDenied.ToError());
  EXPECT_GT(HeldView::Take(store).value()->side_version(), before);
}

}  // namespace
}  // namespace kvorum::server
