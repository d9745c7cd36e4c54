// The messages of the Lock and Election services against the protocol's own, and the requests that
// their queues are worked with.
#include "api/lock_messages.h"

#include <google/protobuf/util/message_differencer.h>
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "api/kv_request_encode.h"
#include "proto/election.pb.h"
#include "proto/lock.pb.h"
#include "proto/rpc.pb.h"
#include "server/locks/queue_requests.h"
#include "tests/damage.h"

namespace kvorum::server {
namespace {

constexpr ResponseHeader kLockHeader{.cluster_id = 5, .revision = 9};

TEST(LockMessagesTest, RequestsAreReadAsTheyAreMeant) {
  v3electionpb::CampaignRequest campaign;
  campaign.set_name("name");
  campaign.set_lease(-7);
  campaign.set_value(std::string("v\0", 2));
  const std::string bytes = campaign.SerializeAsString();
  const auto read = DecodeCampaign(bytes);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->name, "name");
  EXPECT_EQ(read->lease, -7);
  EXPECT_EQ(read->value, std::string_view("v\0", 2));
  const auto lock = DecodeLock(bytes);  // the same fields but one
  EXPECT_EQ(lock->name, "name");
  EXPECT_EQ(lock->lease, -7);
}

TEST(LockMessagesTest, ALeaderKeyIsToldFromNone) {
  EXPECT_FALSE(DecodeProclaim("")->leader.has_value());
  EXPECT_FALSE(DecodeResign("")->leader.has_value());
  v3electionpb::ProclaimRequest request;
  request.mutable_leader();
  std::string bytes = request.SerializeAsString();
  EXPECT_TRUE(DecodeProclaim(bytes)->leader.has_value());
  request.mutable_leader()->set_name("e");
  request.mutable_leader()->set_key("e/1");
  request.mutable_leader()->set_rev(5);
  request.mutable_leader()->set_lease(1);
  request.set_value("v");
  bytes = request.SerializeAsString();
  const auto read = DecodeProclaim(bytes);
  EXPECT_EQ(read->leader->name, "e");
  EXPECT_EQ(read->leader->key, "e/1");
  EXPECT_EQ(read->leader->created, 5);
  EXPECT_EQ(read->leader->lease, 1);
  EXPECT_EQ(read->value, "v");
  EXPECT_EQ(DecodeResign(bytes)->leader->key, "e/1");
  EXPECT_EQ(DecodeResign(bytes)->value, "");
}

TEST(LockMessagesTest, WhatIsNoMessageIsRefused) {
  v3electionpb::ProclaimRequest request;
  request.mutable_leader()->set_key("e/1");
  request.mutable_leader()->set_rev(300);
  request.set_value("v");
  const std::string whole = request.SerializeAsString();
  ForEachCut(whole, [](std::string_view cut) {
    v3electionpb::ProclaimRequest parsed;
    EXPECT_EQ(DecodeProclaim(cut).has_value(), parsed.ParseFromString(std::string(cut)));
  });
  for (const auto& decode : {+[](std::string_view b) { return DecodeLock(b).has_value(); },
                             +[](std::string_view b) { return DecodeOnlyBytes(b).has_value(); },
                             +[](std::string_view b) { return DecodeCampaign(b).has_value(); },
                             +[](std::string_view b) { return DecodeResign(b).has_value(); }}) {
    EXPECT_TRUE(decode("\x7a\x01x")) << "a field that is not known";
    EXPECT_FALSE(decode("\x0a\x05x"));
    EXPECT_FALSE(decode("\xff"));
  }
}

TEST(LockMessagesTest, ResponsesAreTheProtocols) {
  v3lockpb::LockResponse lock;
  ASSERT_TRUE(lock.ParseFromString(std::string(EncodeLockResponse(kLockHeader, "a/1").view())));
  EXPECT_EQ(lock.header().cluster_id(), 5U);
  EXPECT_EQ(lock.header().revision(), 9);
  EXPECT_EQ(lock.key(), "a/1");
  v3electionpb::CampaignResponse campaign;
  ASSERT_TRUE(campaign.ParseFromString(std::string(
      EncodeCampaignResponse(kLockHeader, {.name = "e", .key = "e/1", .created = 3, .lease = 1})
          .view())));
  EXPECT_EQ(campaign.header().revision(), 9);
  EXPECT_EQ(campaign.leader().ShortDebugString(), R"(name: "e" key: "e/1" rev: 3 lease: 1)");
  mvccpb::KeyValue kv;
  kv.set_key("e/1");
  v3electionpb::LeaderResponse leader;
  ASSERT_TRUE(leader.ParseFromString(
      std::string(EncodeLeaderResponse(kLockHeader, kv.SerializeAsString()).view())));
  EXPECT_EQ(leader.kv().key(), "e/1");
}

etcdserverpb::TxnRequest ToProto(const mvcc::TxnRequest& request) {
  etcdserverpb::TxnRequest message;
  EXPECT_TRUE(message.ParseFromString(std::string(EncodeTxn(request).view())));
  return message;
}
etcdserverpb::RangeRequest ToProto(const mvcc::RangeRequest& request) {
  mvcc::TxnRequest around;
  around.success.emplace_back(request);
  return ToProto(around).success(0).request_range();
}

TEST(QueueRequestsTest, KeysEndInTheLease) {
  EXPECT_EQ(QueuePrefix("a/b"), "a/b/");
  EXPECT_EQ(QueueRange("a/b/").end, "a/b0");
  EXPECT_EQ(QueueKey("a/", 0x694d7b2c), "a/694d7b2c");
  EXPECT_EQ(QueueKey("/", -1), "/-1");
  EXPECT_EQ(QueueKey("/", std::numeric_limits<std::int64_t>::min()), "/-8000000000000000");
}

TEST(QueueRequestsTest, AreWhatTheirNamesSay) {
  const QueueRange queue("a/");
  EXPECT_EQ(ToProto(EnterAndCount("a/1", queue, 1)).ShortDebugString(),
            R"(compare { target: CREATE key: "a/1" create_revision: 0 } )"
            R"(success { request_put { key: "a/1" lease: 1 } } )"
            R"(success { request_range { key: "a/" range_end: "a0" count_only: true } } )"
            R"(failure { request_range { key: "a/1" } } )"
            R"(failure { request_range { key: "a/" range_end: "a0" count_only: true } })");
  EXPECT_EQ(ToProto(Enter("a/1", 1, "v")).ShortDebugString(),
            R"(compare { target: CREATE key: "a/1" create_revision: 0 } )"
            R"(success { request_put { key: "a/1" value: "v" lease: 1 } } )"
            R"(failure { request_range { key: "a/1" } })");
  EXPECT_EQ(ToProto(ChangeValue({.key = "a/1", .created = 5}, 2, "w")).ShortDebugString(),
            R"(compare { target: CREATE key: "a/1" create_revision: 5 } )"
            R"(success { request_put { key: "a/1" value: "w" lease: 2 } })");
  EXPECT_EQ(ToProto(LeaveQueue({.key = "a/1", .created = 5})).ShortDebugString(),
            R"(compare { target: CREATE key: "a/1" create_revision: 5 } )"
            R"(success { request_delete_range { key: "a/1" } })");
  EXPECT_EQ(ToProto(FindOldest(queue)).ShortDebugString(),
            R"(key: "a/" range_end: "a0" limit: 1 sort_order: ASCEND sort_target: CREATE)");
  EXPECT_EQ(ToProto(FindYoungestUpTo(queue, 4)).ShortDebugString(),
            R"(key: "a/" range_end: "a0" limit: 1 sort_order: DESCEND sort_target: CREATE )"
            R"(keys_only: true max_create_revision: 4)");
  EXPECT_EQ(ToProto(FindKey("a/1")).ShortDebugString(), R"(key: "a/1")");
}

}  // namespace
}  // namespace kvorum::server
