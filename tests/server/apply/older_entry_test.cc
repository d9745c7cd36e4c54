// Entries for members of etcd before 3.7: what they say is what was asked, in the only form that
// all members read alike.
#include "api/entries/older_entry.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "api/kv_decode.h"
#include "api/kv_request_encode.h"
#include "api/maintenance_encode.h"
#include "base/api_errors.h"
#include "proto/rpc.pb.h"
#include "proto/wire.h"
#include "tests/server/auth/method_paths.h"
#include "tests/server/replica/log_file.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

using testing::HasSubstr;
using testing::Not;

// Two fields that a decoder skips: one of another type than its own, and one that is unknown.
std::string WithStrayFields(std::string body) {
  wire::AppendUintAlways(body, 1, 7);
  wire::AppendBytesAlways(body, 77, "stray");
  return body;
}
// An empty field that is written.
std::string WithEmpty(std::string body, std::uint32_t field) {
  wire::AppendBytesAlways(body, field, "");
  return body;
}

TEST(RewriteTest, AnEmptyRangeEndIsLeftOut) {
  EXPECT_EQ(Rewrite(RequestKind::kDeleteRange, WithEmpty(DeleteBody("k"), 2)), DeleteBody("k"));
  EXPECT_EQ(Rewrite(RequestKind::kRoleRevokePermission, WithEmpty(PutBody("r", "k"), 3)),
            PutBody("r", "k"));
  EXPECT_EQ(Rewrite(RequestKind::kTxn,
                    TxnBody({OpBody(kRequestDelete, WithEmpty(DeleteBody("k"), 2)),
                             OpBody(kRequestRange, WithEmpty(RangeBody({.key = "k"}), 2))})),
            TxnBody({OpBody(kRequestDelete, DeleteBody("k")),
                     OpBody(kRequestRange, RangeBody({.key = "k"}))}));
  etcdserverpb::TxnRequest compares;
  compares.add_compare()->set_key("k");
  compares.mutable_compare(0)->set_version(0);
  const std::string compare = compares.compare(0).SerializeAsString();
  std::string written;
  wire::AppendBytesAlways(written, 1, WithEmpty(compare, 64));
  EXPECT_EQ(Rewrite(RequestKind::kTxn, written), compares.SerializeAsString());
}

TEST(RewriteTest, StrayFieldsAreLeftOutOfEveryKindThatClientsMake) {
  const std::string names = PutBody("a", "b");  // two strings, as many messages begin
  for (const RequestKind kind :
       {RequestKind::kPut, RequestKind::kDeleteRange, RequestKind::kUserGrantRole,
        RequestKind::kUserRevokeRole, RequestKind::kRoleRevokePermission})
    EXPECT_EQ(Rewrite(kind, WithStrayFields(names)), names) << static_cast<int>(kind);
  for (const RequestKind kind :
       {RequestKind::kUserDelete, RequestKind::kRoleAdd, RequestKind::kRoleDelete})
    EXPECT_EQ(Rewrite(kind, WithStrayFields(PutBody("a", ""))), PutBody("a", ""));
  for (const RequestKind kind : {RequestKind::kAuthEnable, RequestKind::kAuthDisable})
    EXPECT_EQ(Rewrite(kind, WithStrayFields("")), "");

  std::string compact = CompactBody(7, true);
  wire::AppendBytesAlways(compact, 1, "of another type");
  EXPECT_EQ(Rewrite(RequestKind::kCompaction, compact), CompactBody(7, true));
  std::string alarm;
  wire::AppendUintAlways(alarm, 1, 1);
  wire::AppendUintAlways(alarm, 2, 5);
  wire::AppendUintAlways(alarm, 3, 1);
  EXPECT_EQ(Rewrite(RequestKind::kAlarm, alarm + WithEmpty("", 2)), alarm);
}

TEST(RewriteTest, UsersAndPermissionsStayWhatTheyAre) {
  etcdserverpb::AuthUserAddRequest user;
  user.set_name("u");
  user.set_hashedpassword("h");
  EXPECT_EQ(Rewrite(RequestKind::kUserAdd, user.SerializeAsString()), user.SerializeAsString());
  user.mutable_options()->set_no_password(true);
  const std::string optional = user.SerializeAsString();
  EXPECT_EQ(Rewrite(RequestKind::kUserAdd, optional), optional);
  std::string stray = WithEmpty(PutBody("u", ""), 1);  // the last of two names counts
  wire::AppendBytesAlways(stray, 1, "u");
  wire::AppendBytesAlways(stray, 3, WithEmpty(std::string("\x08\x01", 2), 1));
  wire::AppendBytesAlways(stray, 4, "h");
  EXPECT_EQ(Rewrite(RequestKind::kUserAdd, stray), optional);

  etcdserverpb::AuthRoleGrantPermissionRequest grant;
  grant.set_name("r");
  grant.mutable_perm()->set_permtype(authpb::Permission::READWRITE);
  grant.mutable_perm()->set_key("k");
  std::string written = PutBody("r", "");
  wire::AppendBytesAlways(written, 2, WithEmpty(grant.perm().SerializeAsString(), 3));
  EXPECT_EQ(Rewrite(RequestKind::kRoleGrantPermission, written), grant.SerializeAsString());
}

TEST(RewriteTest, WhatMembersMakeOrNobodyReadsStays) {
  EXPECT_EQ(Rewrite(RequestKind::kClusterVersionSet, WithStrayFields("")), WithStrayFields(""));
  EXPECT_EQ(Rewrite(RequestKind::kPut, "\xff"), "\xff");
}

TEST(NestRangesTest, OnlyRangesOfTheTransactionItselfAreNested) {
  const std::string range = OpBody(kRequestRange, RangeBody({.key = "k"}));
  const std::string put = OpBody(kRequestPut, PutBody("k", "v"));
  const std::string inner = OpBody(kRequestTxn, TxnBody({range}));
  const std::string bytes = TxnBody({put, range, inner}, {range});
  auto request = DecodeTxn(bytes);
  ASSERT_TRUE(request.has_value());
  const NestedRanges nested = NestRanges(*request);
  EXPECT_EQ(EncodeTxn(*request).view(), TxnBody({put, inner, inner}, {inner}));
  EXPECT_THAT(nested.success, testing::ElementsAre(false, true, false));
  EXPECT_THAT(nested.failure, testing::ElementsAre(true));
}

class OlderEntryServiceTest : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(served_.Start().has_value()); }
  void SetVersion(std::string_view version) {
    served_.parts().proposer.Propose(nullptr, RequestKind::kClusterVersionSet,
                                     EncodeClusterVersion(version), std::make_unique<NoWaiter>(),
                                     std::chrono::seconds(1));
    ASSERT_TRUE(served_.lanes().RunUntil(
        [&] { return served_.parts().cluster.membership.View()->cluster_version == version; }));
  }
  // The entry's text, as the log line tells it, of a transaction that reads, and is refused where
  // it is applied.
  std::string EntryOfTxn() {
    std::string put = PutBody("k", "v");
    wire::AppendInt(put, 3, 99);
    const LogFile log;
    EXPECT_EQ(
        ErrorOf(served_.Call(kTxnPath, TxnBody({OpBody(kRequestRange, RangeBody({.key = "k"})),
                                                OpBody(kRequestPut, put)}))),
        kErrLeaseNotFound.ToError());
    return log.LinesWith("failed to apply request").at(0);
  }
  etcdserverpb::TxnResponse Txn() {
    const auto answer = served_.Call(
        kTxnPath,
        TxnBody(
            {OpBody(kRequestPut, PutBody("k", "v")), OpBody(kRequestRange, RangeBody({.key = "k"})),
             OpBody(kRequestTxn, TxnBody({OpBody(kRequestRange, RangeBody({.key = "none"}))}))}));
    etcdserverpb::TxnResponse response;
    EXPECT_TRUE(answer.has_value() && response.ParseFromString(*answer));
    return response;
  }

  class NoWaiter final : public Waiter {
    void Applied(ApplyResult) override {}
    void Failed(const Error&) override {}
  };

  ServedMember served_;
};

TEST_F(OlderEntryServiceTest, RangesAreNestedUnlessEveryMemberIsOf37) {
  EXPECT_THAT(EntryOfTxn(), HasSubstr("request_txn")) << "a new cluster, of members unknown";
  SetVersion("3.6.0");
  EXPECT_THAT(EntryOfTxn(), HasSubstr("request_txn"));
  SetVersion("3.7.0");
  EXPECT_THAT(EntryOfTxn(), Not(HasSubstr("request_txn")));
}

TEST_F(OlderEntryServiceTest, TheAnswerIsThatOfTheTransactionThatWasAsked) {
  for (const char* version : {"3.6.0", "3.7.0"}) {
    SetVersion(version);
    const etcdserverpb::TxnResponse response = Txn();
    const std::int64_t revision = response.header().revision();
    ASSERT_EQ(response.responses_size(), 3);
    EXPECT_EQ(response.responses(0).response_put().header().revision(), revision);
    EXPECT_EQ(response.responses(1).response_range().header().revision(), revision);
    EXPECT_EQ(response.responses(1).response_range().kvs(0).mod_revision(), revision);
    EXPECT_EQ(response.responses(2).response_txn().responses_size(), 1);
    EXPECT_TRUE(response.responses(2).response_txn().responses(0).has_response_range());
  }
}

// A value deep inside is copied once, not once for each transaction around it.
TEST(KvRequestEncodeTest, DeepTransactionsAreWrittenAsTheyWereRead) {
  std::string body = TxnBody({OpBody(kRequestPut, PutBody("k", std::string(1000, 'v')))});
  for (int i = 0; i < 900; ++i) body = TxnBody({OpBody(kRequestTxn, body)});
  EXPECT_EQ(Rewrite(RequestKind::kTxn, body), body);
}

}  // namespace
}  // namespace kvorum::server
