// A member whose locks and elections are asked for in the words of the protocol.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "proto/election.pb.h"
#include "proto/lock.pb.h"
#include "proto/rpc.pb.h"
#include "server/call/leader_streams.h"
#include "tests/server/request_bodies.h"
#include "tests/server/served_member.h"
#include "watch/hub.h"

namespace kvorum::server {

class QueueTest : public testing::Test {
 protected:
  using LeaderKey = v3electionpb::LeaderKey;

  // A unary call and what became of it.
  struct Waiting {
    std::shared_ptr<rpc::CallContext> call = std::make_shared<rpc::CallContext>();
    std::shared_ptr<const Answer> answer = {};

    bool is_answered() const { return answer->times > 0; }
    void Cancel() const { call->Cancel({Code::kCanceled, "context canceled"}); }
  };

  void SetUp() override {
    ASSERT_TRUE(served_.Start().has_value());
    for (int lease = 1; lease <= 9; ++lease) Grant(lease);
  }
  ~QueueTest() override {
    for (const auto& waiting : waiting_) waiting.Cancel();
    for (const auto& stream : streams_)
      stream->context().Cancel({Code::kCanceled, "context canceled"});
    Settle();
    EXPECT_EQ(served_.lock().waiting().calls(), 0U);
    EXPECT_EQ(served_.election().waiting().calls(), 0U);
    EXPECT_EQ(served_.lock().waiting().bytes(), 0U);
    EXPECT_EQ(Watchers(), 0U);
    EXPECT_FALSE(served_.member().fatal().has_value());
  }

  // Once its leader_streams() are started, calls that need a leader get `no leader`.
  void ServeWithoutALeader() { served_.SetLeaderless(); }

  // Runs what can run.
  void Settle() { served_.lanes().RunFor(std::chrono::milliseconds(20)); }
  std::size_t Watchers() { return served_.watches().shard(0).watchers(); }

  template <class Response>
  Result<Response> Parsed(const Result<std::string>& bytes) {
    if (!bytes.has_value()) return Fail(bytes.error());
    Response response;
    if (!response.ParseFromString(*bytes)) return Fail(Code::kUnknown, "not its message");
    return response;
  }
  template <class Response, class Request>
  Result<Response> Call(std::string_view path, const Request& request) {
    return Parsed<Response>(served_.Call(path, request.SerializeAsString()));
  }
  template <class Request>
  Waiting& Send(std::string_view path, const Request& request, bool require_leader = false) {
    Waiting& waiting = waiting_.emplace_back();
    if (require_leader) waiting.call->AddMetadata("hasleader", "true");
    waiting.answer = served_.Send(path, request.SerializeAsString(), waiting.call);
    return waiting;
  }
  template <class Response>
  Result<Response> Await(const Waiting& waiting) {
    return Parsed<Response>(served_.Await(*waiting.answer));
  }

  void Grant(std::int64_t id, std::int64_t ttl_s = 1000) {
    etcdserverpb::LeaseGrantRequest request;
    request.set_id(id);
    request.set_ttl(ttl_s);
    ASSERT_TRUE(Call<etcdserverpb::LeaseGrantResponse>("/etcdserverpb.Lease/LeaseGrant", request));
  }
  void Revoke(std::int64_t id) {
    etcdserverpb::LeaseRevokeRequest request;
    request.set_id(id);
    ASSERT_TRUE(
        Call<etcdserverpb::LeaseRevokeResponse>("/etcdserverpb.Lease/LeaseRevoke", request));
  }
  void Put(std::string_view key, std::string_view value) {
    ASSERT_TRUE(served_.Call("/etcdserverpb.KV/Put", PutBody(key, value)));
  }
  void Delete(std::string_view key) {
    ASSERT_TRUE(served_.Call("/etcdserverpb.KV/DeleteRange", DeleteBody(key)));
  }
  etcdserverpb::RangeResponse Range(std::string_view prefix) {
    const std::string end = std::string(prefix.substr(0, prefix.size() - 1)) + "0";
    return *Parsed<etcdserverpb::RangeResponse>(
        served_.Call("/etcdserverpb.KV/Range", RangeBody({.key = prefix, .range_end = end})));
  }
  std::vector<std::string> Keys(std::string_view prefix) {
    std::vector<std::string> keys;
    const etcdserverpb::RangeResponse response = Range(prefix);
    for (const auto& kv : response.kvs()) keys.push_back(kv.key());
    return keys;
  }

  // ---- Lock ----
  static v3lockpb::LockRequest LockRequestOf(std::string_view name, std::int64_t lease) {
    v3lockpb::LockRequest request;
    request.set_name(std::string(name));
    request.set_lease(lease);
    return request;
  }
  Result<v3lockpb::LockResponse> Lock(std::string_view name, std::int64_t lease) {
    return Call<v3lockpb::LockResponse>("/v3lockpb.Lock/Lock", LockRequestOf(name, lease));
  }
  // A call that is expected to wait.
  Waiting& WaitForLock(std::string_view name, std::int64_t lease, bool require_leader = false) {
    Waiting& waiting = Send("/v3lockpb.Lock/Lock", LockRequestOf(name, lease), require_leader);
    Settle();
    EXPECT_FALSE(waiting.is_answered());
    return waiting;
  }
  Result<v3lockpb::UnlockResponse> Unlock(std::string_view key) {
    v3lockpb::UnlockRequest request;
    request.set_key(std::string(key));
    return Call<v3lockpb::UnlockResponse>("/v3lockpb.Lock/Unlock", request);
  }

  // ---- Election ----
  static v3electionpb::CampaignRequest CampaignRequestOf(std::string_view name, std::int64_t lease,
                                                         std::string_view value) {
    v3electionpb::CampaignRequest request;
    request.set_name(std::string(name));
    request.set_lease(lease);
    request.set_value(std::string(value));
    return request;
  }
  Result<v3electionpb::CampaignResponse> Campaign(std::string_view name, std::int64_t lease,
                                                  std::string_view value) {
    return Call<v3electionpb::CampaignResponse>("/v3electionpb.Election/Campaign",
                                                CampaignRequestOf(name, lease, value));
  }
  Waiting& WaitForElection(std::string_view name, std::int64_t lease, std::string_view value) {
    Waiting& waiting =
        Send("/v3electionpb.Election/Campaign", CampaignRequestOf(name, lease, value));
    Settle();
    EXPECT_FALSE(waiting.is_answered());
    return waiting;
  }
  Result<v3electionpb::ProclaimResponse> Proclaim(const std::optional<LeaderKey>& leader,
                                                  std::string_view value) {
    v3electionpb::ProclaimRequest request;
    if (leader) *request.mutable_leader() = *leader;
    request.set_value(std::string(value));
    return Call<v3electionpb::ProclaimResponse>("/v3electionpb.Election/Proclaim", request);
  }
  Result<v3electionpb::ResignResponse> Resign(const std::optional<LeaderKey>& leader) {
    v3electionpb::ResignRequest request;
    if (leader) *request.mutable_leader() = *leader;
    return Call<v3electionpb::ResignResponse>("/v3electionpb.Election/Resign", request);
  }
  Result<v3electionpb::LeaderResponse> Leader(std::string_view name) {
    v3electionpb::LeaderRequest request;
    request.set_name(std::string(name));
    return Call<v3electionpb::LeaderResponse>("/v3electionpb.Election/Leader", request);
  }
  FakeStream& Observe(std::string_view name) {
    v3electionpb::LeaderRequest request;
    request.set_name(std::string(name));
    auto& stream = streams_.emplace_back(
        served_.OpenStream("/v3electionpb.Election/Observe", request.SerializeAsString()));
    Settle();
    return *stream;
  }

  ServedMember served_;
  std::deque<Waiting> waiting_;
  std::vector<std::shared_ptr<FakeStream>> streams_;
};

}  // namespace kvorum::server
