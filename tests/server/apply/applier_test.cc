// The applier: entry by entry, once and in order, and the reasons for ending it.
#include "server/apply/applier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/server/apply/applier_fixture.h"
#include "tests/server/request_bodies.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;

// --- the consistent index ----------------------------------------------------------------------

TEST_F(ApplierTest, AnEntryThatIsInTheBackendIsNotAppliedAgain) {
  const std::vector<raft::Entry> entries = {Entry(RequestKind::kPut, PutBody("k", "1")),
                                            Entry(RequestKind::kPut, PutBody("k", "2")),
                                            Entry(RequestKind::kPut, PutBody("k", "3"))};
  ApplyAll({entries[0], entries[1]});
  Settle();
  Restart();
  ASSERT_EQ(store->recovered().consistent_index, 2);
  const auto answered = Wait(1);
  ApplyAll(entries);
  EXPECT_EQ(applier_->applied_index(), 3);
  EXPECT_THAT(Rows(mvcc::Get("k")), ElementsAre("k=3 c2 m4 v3"));
  EXPECT_FALSE(answered->has_value()) << "its outcome is not known any more";
}

TEST_F(ApplierTest, WhatWasNotDurableIsAppliedAgain) {
  const std::vector<raft::Entry> entries = {Entry(RequestKind::kPut, PutBody("k", "1")),
                                            Entry(RequestKind::kPut, PutBody("k", "2"))};
  ApplyAll({entries[0]});
  Settle();
  ApplyAll({entries[1]});
  Restart();
  EXPECT_EQ(store->revision(), 2);
  ApplyAll(entries);
  EXPECT_THAT(Rows(mvcc::Get("k")), ElementsAre("k=2 c2 m3 v2"));
}

TEST_F(ApplierTest, AnEmptyEntryOnlyMovesTheIndex) {
  ApplyAll({{.term = 3, .index = ++last_index_, .type = raft::EntryType::kNormal, .data = {}}});
  EXPECT_EQ(applier_->applied_index(), 1);
  EXPECT_EQ(store->revision(), 1);
  Settle();
  Restart();
  EXPECT_EQ(store->recovered().consistent_index, 1);
  ApplyAll({});
  EXPECT_EQ(applier_->applied_index(), 0) << "nothing was applied since the start";
}

TEST_F(ApplierTest, ABatchIsPublishedAsAWhole) {
  std::vector<raft::Entry> entries;
  for (int i = 0; i < 50; ++i) entries.push_back(Entry(RequestKind::kPut, kPutBody));
  const auto first = Wait(1);
  ApplyAll(entries);
  ASSERT_TRUE(first->has_value());
  EXPECT_EQ(std::get<mvcc::PutResult>(*(*first)->value).revision, 2);
  EXPECT_EQ(store->revision(), 51);
}

// --- compaction --------------------------------------------------------------------------------

TEST_F(ApplierTest, ACompactionIsAnsweredAtOnceUnlessTheClientWaits) {
  for (int i = 0; i < 5; ++i) Apply(RequestKind::kPut, kPutBody);
  const auto logical = Apply(RequestKind::kCompaction, CompactBody(3));
  ASSERT_TRUE(logical.has_value());
  EXPECT_EQ(std::get<CompactionResult>(*logical).revision, 6);

  const raft::Entry entry = Entry(RequestKind::kCompaction, CompactBody(5, /*physical=*/true));
  const auto physical = Wait(entry.index);
  ApplyAll({entry});
  EXPECT_FALSE(physical->has_value());
  Settle();
  ASSERT_TRUE(physical->has_value()) << "the deletion is durable";
  EXPECT_TRUE((*physical)->value.has_value());

  const raft::Entry again = Entry(RequestKind::kCompaction, CompactBody(5, /*physical=*/true));
  const auto refused = Wait(again.index);
  ApplyAll({again});
  Settle();
  ASSERT_TRUE(refused->has_value());
  EXPECT_TRUE(FailsWith((*refused)->value, kErrCompacted));
}

TEST_F(ApplierTest, ARefusedCompactionIsAnAnswer) {
  Apply(RequestKind::kPut, kPutBody);
  EXPECT_TRUE(FailsWith(Apply(RequestKind::kCompaction, CompactBody(9)), kErrFutureRev));
  EXPECT_TRUE(
      FailsWith(Apply(RequestKind::kCompaction, CompactBody(9, /*physical=*/true)), kErrFutureRev));
  ASSERT_EQ(Outcome(RequestKind::kCompaction, CompactBody(2)), "ok");
  EXPECT_TRUE(FailsWith(Apply(RequestKind::kCompaction, CompactBody(2)), kErrCompacted));
  EXPECT_EQ(FatalText(), "none");
}

// --- entries that the log may hold -------------------------------------------------------------

TEST_F(ApplierTest, TheStoresRefusalsAreAnswers) {
  std::string leased = kPutBody;
  wire::AppendInt(leased, 3, 99);
  EXPECT_TRUE(FailsWith(Apply(RequestKind::kPut, leased), kErrLeaseNotFound));
  std::string ignoring = PutBody("missing", "");
  wire::AppendBool(ignoring, 5, true);
  EXPECT_TRUE(FailsWith(Apply(RequestKind::kPut, ignoring), kErrKeyNotFound));
  EXPECT_TRUE(FailsWith(
      Apply(RequestKind::kTxn, TxnBody({OpBody(2, ignoring), OpBody(2, PutBody("k", "v"))})),
      kErrKeyNotFound));
  EXPECT_EQ(revision(), 1);
  EXPECT_EQ(FatalText(), "none");
}

TEST_F(ApplierTest, ARequestOfANewerVersionEndsTheReplica) {
  const raft::Entry good = Entry(RequestKind::kPut, PutBody("a", "1"));
  raft::Entry unknown = Entry(RequestKind::kPut, "");
  std::string bytes;
  wire::AppendBytesAlways(bytes, 1303, "");
  unknown.data = SharedBytes::Own(std::move(bytes));
  const raft::Entry behind = Entry(RequestKind::kPut, PutBody("b", "1"));
  ApplyAll({good, unknown, behind});
  EXPECT_EQ(FatalText(),
            "cannot apply log entry 2: the log holds a request of a newer version (field 1303)");
  EXPECT_EQ(applier_->applied_index(), 1);
}

TEST_F(ApplierTest, ADamagedEntryEndsTheReplica) {
  ApplyAll({{.term = 3,
             .index = ++last_index_,
             .type = raft::EntryType::kNormal,
             .data = SharedBytes::Static("\x0a")}});
  EXPECT_EQ(FatalText(), "cannot apply log entry 1: a log entry's request is malformed");
}

TEST_F(ApplierTest, ADamagedOrJointConfigurationChangeEndsTheReplica) {
  raft::Entry entry = ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven());
  entry.type = raft::EntryType::kConfChangeV2;
  ApplyAll({entry});
  EXPECT_EQ(FatalText(),
            "cannot apply log entry 1: joint configuration changes are not supported by this "
            "version");

  fatal_.reset();
  entry = ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven());
  entry.data = SharedBytes::Own(raft::Encode(raft::ConfChange{
      .id = 1, .type = raft::ConfChangeType::kAddNode, .node_id = 7, .context = {}}));
  ApplyAll({entry});
  EXPECT_EQ(FatalText(), "cannot apply log entry 2: membership: a member's record is malformed");

  fatal_.reset();
  entry = ConfEntry(raft::ConfChangeType::kAddNode, MemberSeven());
  entry.data = SharedBytes::Own(
      raft::Encode(raft::ConfChange{.id = 1,
                                    .type = raft::ConfChangeType::kAddNode,
                                    .node_id = 8,
                                    .context = SharedBytes::Own(EncodeMemberJson(MemberSeven()))}));
  ApplyAll({entry});
  EXPECT_EQ(FatalText(),
            "cannot apply log entry 3: membership: the change is of member 8, its record of member "
            "7");
}

}  // namespace
}  // namespace kvorum::server
