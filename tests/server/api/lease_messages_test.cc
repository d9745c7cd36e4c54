// The Lease service's bytes compared with protobuf's.
#include "api/lease_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <vector>

#include "proto/lease.pb.h"
#include "proto/rpc.pb.h"

namespace kvorum::server {
namespace {

using testing::ElementsAre;

constexpr std::array<std::int64_t, 6> kNumbers = {0,
                                                  1,
                                                  -1,
                                                  300,
                                                  std::numeric_limits<std::int64_t>::max(),
                                                  std::numeric_limits<std::int64_t>::min()};
constexpr ResponseHeader kLeaseHeader{
    .cluster_id = 1, .member_id = 2, .revision = 3, .raft_term = 4};

TEST(LeaseMessagesTest, GrantsAreProtobufs) {
  for (const std::int64_t id : kNumbers) {
    for (const std::int64_t ttl_s : kNumbers) {
      etcdserverpb::LeaseGrantRequest request;
      request.set_id(id);
      request.set_ttl(ttl_s);
      const auto decoded = DecodeLeaseGrant(request.SerializeAsString());
      ASSERT_TRUE(decoded.has_value());
      EXPECT_EQ(decoded->id, id);
      EXPECT_EQ(decoded->ttl_s, ttl_s);
      EXPECT_EQ(EncodeLeaseGrant(*decoded), request.SerializeAsString());
      etcdserverpb::LeaseGrantResponse response;
      ASSERT_TRUE(response.ParseFromString(
          std::string(EncodeLeaseGrantResponse(kLeaseHeader, id, ttl_s).view())));
      EXPECT_EQ(response.id(), id);
      EXPECT_EQ(response.ttl(), ttl_s);
      EXPECT_EQ(response.header().raft_term(), 4U);
    }
  }
}

TEST(LeaseMessagesTest, IdsAreProtobufs) {
  for (const std::int64_t id : kNumbers) {
    etcdserverpb::LeaseRevokeRequest request;
    request.set_id(id);
    EXPECT_EQ(EncodeLeaseId(id), request.SerializeAsString());
    EXPECT_EQ(DecodeLeaseId(request.SerializeAsString()), id);
    etcdserverpb::LeaseKeepAliveResponse response;
    ASSERT_TRUE(response.ParseFromString(
        std::string(EncodeLeaseKeepAliveResponse(kLeaseHeader, id, 5).view())));
    EXPECT_EQ(response.id(), id);
    EXPECT_EQ(response.ttl(), 5);
    EXPECT_EQ(response.header().revision(), 3);
  }
}

TEST(LeaseMessagesTest, CheckpointsAreProtobufs) {
  const std::vector<LeaseCheckpoint> checkpoints = {{.id = 1, .remaining_s = 0},
                                                    {.id = -2, .remaining_s = 300}};
  etcdserverpb::LeaseCheckpointRequest request;
  for (const LeaseCheckpoint& checkpoint : checkpoints) {
    auto* each = request.add_checkpoints();
    each->set_id(checkpoint.id);
    each->set_remaining_ttl(checkpoint.remaining_s);
  }
  EXPECT_EQ(EncodeLeaseCheckpoints(checkpoints), request.SerializeAsString());
  const auto decoded = DecodeLeaseCheckpoints(request.SerializeAsString());
  ASSERT_TRUE(decoded.has_value());
  ASSERT_EQ(decoded->size(), 2U);
  EXPECT_EQ((*decoded)[1].id, -2);
  EXPECT_EQ((*decoded)[1].remaining_s, 300);
  EXPECT_FALSE(DecodeLeaseCheckpoints("\x0a\x01\x08").has_value());
}

TEST(LeaseMessagesTest, TimesToLiveAreProtobufs) {
  const LeaseTimes times{.ttl_s = 5, .granted_s = 10, .keys = {"a", "", "b"}};
  etcdserverpb::LeaseTimeToLiveResponse response;
  ASSERT_TRUE(response.ParseFromString(
      std::string(EncodeLeaseTimeToLiveResponse(kLeaseHeader, 7, times).view())));
  EXPECT_EQ(response.id(), 7);
  EXPECT_EQ(response.ttl(), 5);
  EXPECT_EQ(response.grantedttl(), 10);
  EXPECT_THAT(response.keys(), ElementsAre("a", "", "b"));

  etcdserverpb::LeaseTimeToLiveRequest request;
  request.set_id(-7);
  request.set_keys(true);
  const auto decoded = DecodeLeaseTimeToLive(request.SerializeAsString());
  ASSERT_TRUE(decoded.has_value());
  EXPECT_EQ(decoded->id, -7);
  EXPECT_TRUE(decoded->keys);
}

TEST(LeaseMessagesTest, TheListIsProtobufs) {
  const std::array<lease::LeaseId, 3> ids = {3, -1, 2};
  etcdserverpb::LeaseLeasesResponse response;
  ASSERT_TRUE(
      response.ParseFromString(std::string(EncodeLeaseLeasesResponse(kLeaseHeader, ids).view())));
  ASSERT_EQ(response.leases_size(), 3);
  EXPECT_EQ(response.leases(1).id(), -1);
}

TEST(LeaseMessagesTest, WhatMembersAskEachOtherIsEtcds) {
  leasepb::LeaseInternalRequest request;
  request.mutable_leasetimetoliverequest()->set_id(7);
  request.mutable_leasetimetoliverequest()->set_keys(true);
  EXPECT_EQ(EncodeInternalTimeToLive({.id = 7, .keys = true}), request.SerializeAsString());
  EXPECT_EQ(DecodeInternalTimeToLive(request.SerializeAsString())->id, 7);

  const LeaseTimes times{.ttl_s = 5, .granted_s = 10, .keys = {"a"}};
  leasepb::LeaseInternalResponse response;
  ASSERT_TRUE(response.ParseFromString(EncodeInternalTimes(7, times)));
  EXPECT_TRUE(response.leasetimetoliveresponse().has_header());
  EXPECT_EQ(response.leasetimetoliveresponse().grantedttl(), 10);
  const auto read = DecodeInternalTimes(response.SerializeAsString(), 7);
  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->ttl_s, 5);
  EXPECT_THAT(read->keys, ElementsAre("a"));
  EXPECT_FALSE(DecodeInternalTimes(response.SerializeAsString(), 8).has_value());

  etcdserverpb::LeaseKeepAliveResponse renewed;
  renewed.set_id(7);
  renewed.set_ttl(10);
  EXPECT_EQ(EncodeForwardedKeepAlive(7, 10), renewed.SerializeAsString());
  EXPECT_EQ(DecodeForwardedKeepAlive(renewed.SerializeAsString(), 7), 10);
  EXPECT_FALSE(DecodeForwardedKeepAlive(renewed.SerializeAsString(), 8).has_value());
  EXPECT_FALSE(DecodeForwardedKeepAlive("\xff", 7).has_value());
}

TEST(LeaseMessagesTest, WhatIsNoMessageIsRefused) {
  for (const char* bytes : {"\xff", "\x08", "\x0a\x02z"}) {
    EXPECT_FALSE(DecodeLeaseGrant(bytes).has_value()) << bytes;
    EXPECT_FALSE(DecodeLeaseId(bytes).has_value()) << bytes;
    EXPECT_FALSE(DecodeLeaseTimeToLive(bytes).has_value()) << bytes;
  }
}

}  // namespace
}  // namespace kvorum::server
