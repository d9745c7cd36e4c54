// The KV service, from the request's bytes to the answer's, over a whole member.
#include "server/services/kv/kv_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "api/kv_decode.h"
#include "base/api_errors.h"
#include "proto/rpc.pb.h"
#include "server/replica/drive/replica.h"
#include "server/replica/drive/request_id.h"
#include "server/state/alarms.h"
#include "tests/server/auth/method_paths.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

class KvServiceTest : public testing::Test {
 protected:
  void Start() {
    const auto started = served_.Start();
    ASSERT_TRUE(started.has_value()) << started.error().message;
  }
  ~KvServiceTest() override {
    EXPECT_FALSE(served_.member().fatal().has_value()) << served_.member().fatal()->message;
  }

  template <class Response>
  Response Ok(std::string_view path, std::string_view request) {
    const auto answer = served_.Call(path, request);
    Response response;
    if (!answer.has_value()) {
      ADD_FAILURE() << path << ": " << answer.error().message;
      return response;
    }
    EXPECT_TRUE(response.ParseFromString(*answer));
    return response;
  }
  // The error's text, or "ok".
  std::string Outcome(std::string_view path, std::string_view request) {
    const auto answer = served_.Call(path, request);
    return answer.has_value() ? "ok" : answer.error().message;
  }
  Error ErrorOf(std::string_view path, std::string_view request) {
    return server::ErrorOf(served_.Call(path, request));
  }
  void Put(std::string_view key, std::string_view value = "v") {
    EXPECT_EQ(Outcome(kPutPath, PutBody(key, value)), "ok");
  }

  ServedMember served_;
};

// --- answers -----------------------------------------------------------------------------------

TEST_F(KvServiceTest, EveryAnswerHasTheFourFieldsOfTheHeader) {
  Start();
  const auto put = Ok<etcdserverpb::PutResponse>(kPutPath, PutBody("k", "v"));
  EXPECT_EQ(put.header().cluster_id(), 0xcdf818194e3a8c32);
  EXPECT_EQ(put.header().member_id(), 0x8e9e05c52164694d);
  EXPECT_EQ(put.header().revision(), 2);
  EXPECT_EQ(put.header().raft_term(), served_.parts().cluster.replica.term());
  const auto range = Ok<etcdserverpb::RangeResponse>(kRangePath, RangeBody({.key = "k"}));
  EXPECT_EQ(range.header().ShortDebugString(), put.header().ShortDebugString());
  EXPECT_EQ(range.count(), 1);
  EXPECT_EQ(range.kvs(0).value(), "v");
  const auto deleted = Ok<etcdserverpb::DeleteRangeResponse>(kDeleteRangePath, DeleteBody("k"));
  EXPECT_EQ(deleted.header().revision(), 3);
  EXPECT_EQ(deleted.deleted(), 1);
  const auto txn = Ok<etcdserverpb::TxnResponse>(kTxnPath, PutTxnBody({"a", "b"}, "v"));
  EXPECT_EQ(txn.header().revision(), 4);
  EXPECT_TRUE(txn.succeeded());
  const auto compaction = Ok<etcdserverpb::CompactionResponse>(kCompactPath, CompactBody(3));
  EXPECT_EQ(compaction.header().revision(), 4);
  EXPECT_EQ(compaction.header().member_id(), 0x8e9e05c52164694d);
  EXPECT_EQ(Ok<etcdserverpb::CompactionResponse>(kCompactPath, CompactBody(4, /*physical=*/true))
                .header()
                .revision(),
            4);
}

TEST_F(KvServiceTest, ALinearizableReadSeesWhatWasAcknowledged) {
  Start();
  for (int i = 0; i < 50; ++i) {
    const std::string value = std::to_string(i);
    Put("k", value);
    EXPECT_EQ(Ok<etcdserverpb::RangeResponse>(kRangePath, RangeBody({.key = "k"})).kvs(0).value(),
              value);
  }
}

// etcd loses it, and its process ends where it is read next.
TEST_F(KvServiceTest, AKeyDeletedAndPutByOneTransactionOutlivesACompactionAtItsRevision) {
  Start();
  Put("k");
  const std::string everything = DeleteBody("k", std::string_view("\0", 1));
  const auto txn = Ok<etcdserverpb::TxnResponse>(
      kTxnPath,
      TxnBody({OpBody(4, TxnBody({OpBody(3, everything)})), OpBody(2, PutBody("k", "again"))}));
  Ok<etcdserverpb::CompactionResponse>(kCompactPath, CompactBody(txn.header().revision(), true));
  const auto range = Ok<etcdserverpb::RangeResponse>(kRangePath, RangeBody({.key = "k"}));
  ASSERT_EQ(range.kvs_size(), 1);
  EXPECT_EQ(range.kvs(0).value(), "again");
  EXPECT_EQ(range.kvs(0).version(), 1);
}

TEST_F(KvServiceTest, ReadsMakeNoEntryOfTheLog) {
  Start();
  Put("k");
  const raft::Index before = served_.parts().cluster.replica.commit_index();
  const std::string read = TxnBody({OpBody(1, RangeBody({.key = "k"}))});
  const auto txn = Ok<etcdserverpb::TxnResponse>(kTxnPath, read);
  EXPECT_EQ(txn.responses(0).response_range().kvs(0).value(), "v");
  EXPECT_EQ(txn.header().revision(), 2);
  EXPECT_EQ(Outcome(kTxnPath, TxnBody({OpBody(1, RangeBody({.key = "k", .serializable = true}))})),
            "ok");
  EXPECT_EQ(Outcome(kTxnPath, ""), "ok");
  EXPECT_EQ(Outcome(kRangePath, RangeBody({.key = "k"})), "ok");
  EXPECT_EQ(served_.parts().cluster.replica.commit_index(), before);
  EXPECT_EQ(Outcome(kTxnPath, TxnBody({OpBody(4, read)})), "ok");
  EXPECT_GT(served_.parts().cluster.replica.commit_index(), before) << "a nested txn is a write";
}

TEST_F(KvServiceTest, ARangeOfManyRowsLeavesTheLoop) {
  Start();
  for (int i = 0; i < 1'100; i += 100) {
    std::string txn;
    for (int k = 0; k < 100; ++k) {
      wire::AppendBytesAlways(txn, 2, OpBody(2, PutBody("k" + std::to_string(i + k), "v")));
    }
    ASSERT_EQ(Outcome(kTxnPath, txn), "ok");
  }
  const std::string all =
      RangeBody({.key = {"\0", 1}, .range_end = {"\0", 1}, .serializable = true});
  const auto answer = served_.Send(kRangePath, all);
  EXPECT_EQ(answer->times, 0) << "it waits for the readers";
  ASSERT_TRUE(served_.Await(*answer).has_value());
  const auto one = served_.Send(kRangePath, RangeBody({.key = "k7", .serializable = true}));
  EXPECT_EQ(one->times, 1) << "a single key is served at once";
}

// Dead keys are looked at too, and no limit makes them fewer.
TEST_F(KvServiceTest, ARangeOfManyKeysThatAreDeadTodayLeavesTheLoop) {
  Start();
  for (int i = 0; i < 1'100; i += 100) {
    std::string txn;
    for (int k = 0; k < 100; ++k) {
      wire::AppendBytesAlways(txn, 2, OpBody(2, PutBody("k" + std::to_string(i + k), "v")));
    }
    ASSERT_EQ(Outcome(kTxnPath, txn), "ok");
  }
  const std::int64_t all = served_.store().revision();
  ASSERT_EQ(Outcome(kDeleteRangePath, DeleteBody({"\0", 1}, {"\0", 1})), "ok");
  RangeFields old{.key = {"\0", 1}, .range_end = {"\0", 1}, .revision = all, .serializable = true};
  old.count_only = true;
  const auto count = served_.Send(kRangePath, RangeBody(old));
  EXPECT_EQ(count->times, 0) << "it waits for the readers";
  ASSERT_TRUE(served_.Await(*count).has_value());
  old.count_only = false;
  old.limit = 1;
  const auto page = served_.Send(kRangePath, RangeBody(old));
  EXPECT_EQ(page->times, 0) << "it waits for the readers";
  ASSERT_TRUE(served_.Await(*page).has_value());
  old.revision = 0;
  const auto newest = served_.Send(kRangePath, RangeBody(old));
  EXPECT_EQ(newest->times, 1) << "there is nothing to be looked at";
}

// --- refused before they are proposed ----------------------------------------------------------

TEST_F(KvServiceTest, WhatARequestAloneGetsWrongIsRefusedWithoutAnEntry) {
  Start();
  Put("k");
  const raft::Index before = served_.parts().cluster.replica.commit_index();
  std::string ignore_value = PutBody("k", "v");
  wire::AppendBool(ignore_value, 5, true);
  std::string ignore_lease = PutBody("k", "v");
  wire::AppendInt(ignore_lease, 3, 1);
  wire::AppendBool(ignore_lease, 6, true);
  std::string compare_without_key;
  wire::AppendBytesAlways(compare_without_key, 1, "");
  const std::string put = OpBody(2, PutBody("k", "v"));
  std::string too_many;
  for (int i = 0; i < 129; ++i)
    wire::AppendBytesAlways(too_many, 2, OpBody(2, PutBody(std::to_string(i), "v")));
  const std::vector<std::tuple<std::string_view, std::string, ApiError>> cases = {
      {kRangePath, RangeBody({.key = ""}), kErrEmptyKey},
      {kRangePath, RangeBody({.key = "k", .sort_order = 3}), kErrInvalidSortOption},
      {kRangePath, RangeBody({.key = "k", .sort_target = 9}), kErrInvalidSortOption},
      {kRangePath, RangeBody({.key = "k", .revision = 99}), kErrFutureRev},
      {kPutPath, PutBody("", "v"), kErrEmptyKey},
      {kPutPath, ignore_value, kErrValueProvided},
      {kPutPath, ignore_lease, kErrLeaseProvided},
      {kDeleteRangePath, DeleteBody(""), kErrEmptyKey},
      {kTxnPath, TxnBody({""}), kErrKeyNotFound},
      {kTxnPath, TxnBody({OpBody(2, PutBody("", "v"))}), kErrEmptyKey},
      {kTxnPath, compare_without_key, kErrEmptyKey},
      {kTxnPath, TxnBody({put, put}), kErrDuplicateKey},
      {kTxnPath, TxnBody({}, {put, OpBody(3, DeleteBody("a", "z"))}), kErrDuplicateKey},
      {kTxnPath, too_many, kErrTooManyOps},
  };
  for (const auto& [path, body, error] : cases)
    EXPECT_EQ(ErrorOf(path, body), error) << path << ": " << error.message;
  for (const std::string_view path :
       {kRangePath, kPutPath, kDeleteRangePath, kTxnPath, kCompactPath})
    EXPECT_EQ(ErrorOf(path, "\x0a"), MalformedRequest().error()) << path;
  EXPECT_EQ(served_.parts().cluster.replica.commit_index(), before);
  EXPECT_EQ(served_.store().revision(), 2);
}

TEST_F(KvServiceTest, TheLargestRequestIsOfTheWholeEntry) {
  Start();
  const std::string body = PutBody("k", std::string(1'000, 'v'));
  const std::size_t entry =
      EncodeInternalRequest(served_.parts().proposer.ids().Next(), RequestKind::kPut, body).size();
  served_.limits().max_request_bytes = entry;
  EXPECT_EQ(Outcome(kPutPath, body), "ok");
  EXPECT_EQ(ErrorOf(kPutPath, PutBody("k", std::string(1'001, 'v'))),
            kErrRequestTooLarge.ToError());
  EXPECT_EQ(ErrorOf(kTxnPath, TxnBody({OpBody(2, body)})), kErrRequestTooLarge.ToError());
  EXPECT_EQ(Outcome(kTxnPath, TxnBody({OpBody(1, RangeBody({.key = std::string(2'000, 'k')}))})),
            "ok")
      << "a read is no entry";
}

TEST_F(KvServiceTest, TheTxnLimitIsTheConfiguredOne) {
  Start();
  served_.limits().max_txn_ops = 2;
  EXPECT_EQ(Outcome(kTxnPath, PutTxnBody({"a", "b"}, "v")), "ok");
  EXPECT_EQ(ErrorOf(kTxnPath, PutTxnBody({"a", "b", "c"}, "v")), kErrTooManyOps);
}

TEST_F(KvServiceTest, WritesWaitForTheApplyLoopAtAGapOfFiveThousand) {
  Start();
  const Replica& replica = served_.parts().cluster.replica;
  Lanes& lanes = served_.lanes();
  lanes.Hold(lanes.apply(), true);
  const raft::Index applied = replica.applied_index();
  const auto commit_up_to = [&](raft::Index index) {
    while (replica.commit_index() < index) {
      const std::uint64_t missing = index - replica.commit_index();
      for (std::uint64_t i = 0; i < missing; ++i) {
        served_.member().Propose(RequestKind::kPut, PutBody("k", "v"),
                                 [](const Result<ApplyResult::Value>&) {});
      }
      ASSERT_TRUE(
          lanes.RunUntil([&] { return replica.commit_index() >= index; }, std::chrono::seconds(5)));
    }
  };
  const std::string revocation = EncodeLeaseId(77);
  commit_up_to(applied + 5'000);
  const auto last = served_.Send(kPutPath, PutBody("last", "v"));
  EXPECT_EQ(last->times, 0) << "at 5,000 it is still taken";
  commit_up_to(applied + 5'001);
  for (const auto& [path, body] :
       {std::pair(kPutPath, PutBody("k", "v")), std::pair(kDeleteRangePath, DeleteBody("k")),
        std::pair(kTxnPath, PutTxnBody({"k"}, "v")), std::pair(kCompactPath, CompactBody(1))})
    EXPECT_EQ(ErrorOf(path, body), kErrTooManyRequests.ToError()) << path;
  EXPECT_EQ(ErrorOf(kLeaseRevokePath, revocation), kErrTooManyRequests.ToError());
  // With the feature gate PriorityRequest revocations pass up to twice the gap.
  served_.limits().revokes_have_priority = true;
  EXPECT_EQ(ErrorOf(kPutPath, PutBody("k", "v")), kErrTooManyRequests.ToError());
  commit_up_to(applied + 10'000);
  const auto revoked = served_.Send(kLeaseRevokePath, revocation);
  EXPECT_EQ(revoked->times, 0) << "it is taken";
  commit_up_to(applied + 10'001);
  EXPECT_EQ(ErrorOf(kLeaseRevokePath, revocation), kErrTooManyRequests.ToError());
  lanes.Hold(lanes.apply(), false);
  EXPECT_TRUE(served_.Await(*last).has_value());
  Put("k");
}

TEST_F(KvServiceTest, AProposalThatIsNotCommittedInTimeIsToldSo) {
  Start();
  served_.lanes().Hold(served_.lanes().wal(), true);
  EXPECT_EQ(ErrorOf(kPutPath, PutBody("k", "v")), kErrTimeout.ToError());
}

TEST_F(KvServiceTest, AStoppedMemberSaysSo) {
  Start();
  served_.lanes().Hold(served_.lanes().wal(), true);
  const auto waiting = served_.Send(kPutPath, PutBody("k", "v"));
  served_.member().local_member().Stop([] {});
  EXPECT_EQ(server::ErrorOf(served_.Await(*waiting)), kErrStopped.ToError());
  served_.lanes().Hold(served_.lanes().wal(), false);
  EXPECT_EQ(ErrorOf(kPutPath, PutBody("k", "v")), kErrStopped.ToError());
  EXPECT_EQ(ErrorOf(kRangePath, RangeBody({.key = "k"})), kErrStopped.ToError());
  EXPECT_EQ(Outcome(kRangePath, RangeBody({.key = "k", .serializable = true})), "ok");
}

// --- space -------------------------------------------------------------------------------------

std::string DisarmBody(raft::MemberId member) {
  return EncodeAlarmRequest({.action = AlarmAction::kDeactivate,
                             .alarm = {.member = member, .type = AlarmType::kNoSpace}});
}

TEST_F(KvServiceTest, AWritePastTheQuotaRaisesTheAlarmAndIsRefused) {
  served_.options().quota_bytes = 60'000;
  Start();
  Put("k");
  EXPECT_EQ(ErrorOf(kPutPath, PutBody("k", std::string(60'000, 'v'))), kErrNoSpace.ToError());
  EXPECT_EQ(served_.store().revision(), 2);
  EXPECT_THAT(served_.parts().cluster.alarms.List(),
              testing::ElementsAre(Alarm{.member = raft::MemberId{0x8e9e05c52164694d},
                                         .type = AlarmType::kNoSpace}));
  EXPECT_EQ(Outcome(kPutPath, PutBody("k", "v")), kErrNoSpace.message) << "while the alarm stands";
  EXPECT_EQ(Outcome(kTxnPath, PutTxnBody({"k"}, "v")), kErrNoSpace.message);
  EXPECT_EQ(Outcome(kTxnPath, TxnBody({}, {OpBody(2, PutBody("k", "v"))})), kErrNoSpace.message)
      << "a put in either branch";
  EXPECT_EQ(Outcome(kTxnPath, TxnBody({OpBody(3, DeleteBody("k"))})), "ok");
  EXPECT_EQ(Outcome(kDeleteRangePath, DeleteBody("k")), "ok");
  EXPECT_EQ(Outcome(kRangePath, RangeBody({.key = "k"})), "ok");
  EXPECT_EQ(Outcome(kCompactPath, CompactBody(2)), "ok");
  EXPECT_EQ(Outcome(kAlarmPath, DisarmBody(served_.parts().cluster.member_id)), "ok");
  EXPECT_EQ(Outcome(kPutPath, PutBody("k", "v")), "ok");
}

TEST_F(KvServiceTest, ATxnCostsItsLargerBranch) {
  served_.options().quota_bytes = 60'000;
  Start();
  const std::string large = OpBody(2, PutBody("k", std::string(60'000, 'v')));
  EXPECT_EQ(Outcome(kTxnPath, TxnBody({OpBody(1, RangeBody({.key = "k"}))}, {large})),
            kErrNoSpace.message);
  EXPECT_EQ(Outcome(kAlarmPath, DisarmBody(served_.parts().cluster.member_id)), "ok");
  EXPECT_EQ(Outcome(kTxnPath, TxnBody({OpBody(4, TxnBody({large}))})), kErrNoSpace.message)
      << "nested too";
}

TEST_F(KvServiceTest, TheAlarmOutlivesTheProcess) {
  served_.options().quota_bytes = 60'000;
  Start();
  EXPECT_EQ(Outcome(kPutPath, PutBody("k", std::string(60'000, 'v'))), kErrNoSpace.message);
  ServedMember again(served_.Stop());
  ASSERT_TRUE(again.Start().has_value());
  EXPECT_EQ(server::ErrorOf(again.Call(kPutPath, PutBody("k", "v"))), kErrNoSpace.ToError());
}

TEST_F(KvServiceTest, AFullDiskRefusesWhatCostsSpace) {
  served_.disk().SetCapacity(std::uint64_t{12} << 20);  // less than must stay free
  Start();
  EXPECT_EQ(ErrorOf(kPutPath, PutBody("k", "v")), kErrNoSpace.ToError());
  EXPECT_EQ(Outcome(kDeleteRangePath, DeleteBody("k")), "ok");
  EXPECT_EQ(Outcome(kRangePath, RangeBody({.key = "k"})), "ok");
}

TEST_F(KvServiceTest, ACorruptClusterTakesNoWrite) {
  Start();
  Put("k");
  const auto raise = EncodeAlarmRequest(
      {.action = AlarmAction::kActivate, .alarm = {.member = 1, .type = AlarmType::kCorrupt}});
  ASSERT_EQ(Outcome(kAlarmPath, raise), "ok");
  for (const auto& [path, body] :
       {std::pair(kPutPath, PutBody("k", "v")), std::pair(kDeleteRangePath, DeleteBody("k")),
        std::pair(kTxnPath, TxnBody({OpBody(3, DeleteBody("k"))})),
        std::pair(kCompactPath, CompactBody(2)),
        std::pair(kCompactPath, CompactBody(2, /*physical=*/true))})
    EXPECT_EQ(ErrorOf(path, body), kErrCorrupt.ToError()) << path;
  EXPECT_EQ(Outcome(kRangePath, RangeBody({.key = "k"})), "ok");
}

}  // namespace
}  // namespace kvorum::server
