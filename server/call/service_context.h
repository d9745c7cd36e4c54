// What the services share: the replica, the store, who we are, and the limits. A service holds a
// reference to it from when its methods are registered (so that ports are bound before any data is
// touched); it is filled in before the first call comes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "base/executor.h"
#include "mvcc/store.h"
#include "rpc/answer_memory.h"
#include "rpc/service.h"
#include "server/messages/internal_request.h"
#include "server/messages/kv_encode.h"
#include "server/replica/proposal.h"

namespace kvorum::watch {
class Hub;
}  // namespace kvorum::watch

namespace kvorum::server {

class Access;
class AdmittedWaiter;
class Alarms;
class Instance;
class LeaderStreams;
class LeaseExpiry;
class Leases;
class Membership;
class PeerPoster;
class PromoteForwarder;
class Quota;
class Replica;
class RequestBatcher;
class RequestIdSource;
class Transport;

// The most that reads may hold; tests take less.
struct AnswerLimits {
  std::size_t max_bytes = INT32_MAX;               // of one answer, as gRPC has it
  std::size_t loop_bytes = std::size_t{1} << 20;   // read on an I/O loop
  std::size_t keep_bytes = std::size_t{4} << 20;   // of one answer, before pieces are made
  std::size_t piece_bytes = std::size_t{1} << 20;  // of the rest, at a time
  Duration piece_wait = std::chrono::seconds(10);  // for memory
  Duration piece_retry = std::chrono::milliseconds(20);
};

struct ServiceLimits {
  std::size_t max_request_bytes = 0;
  std::size_t max_txn_ops = 0;
  std::int64_t quota_bytes = 0;  // for Status; negative: no quota
  Duration request_timeout{};
  Duration election_timeout = std::chrono::seconds(1);
  // What a Watch call may have to send before its watchers wait for the client.
  std::size_t watch_window_bytes = std::size_t{256} << 10;
  bool strict_reconfig_check = true;
  std::size_t max_learners = 1;
  AnswerLimits answers = {};
};

struct ServiceContext {
  Replica* replica = nullptr;
  mvcc::Store* store = nullptr;
  Membership* membership = nullptr;
  Alarms* alarms = nullptr;
  const Quota* quota = nullptr;
  Leases* leases = nullptr;
  LeaseExpiry* lease_expiry = nullptr;
  Instance* instance = nullptr;  // for what it tells of the disks
  RequestBatcher* batcher = nullptr;
  const Access* access = nullptr;
  RequestIdSource* ids = nullptr;
  const Transport* transport = nullptr;
  PromoteForwarder* promote_forwarder = nullptr;  // may be null: then only the leader promotes
  PeerPoster* poster = nullptr;  // to the leader; may be null: then only it knows about leases
  Executor* timers = nullptr;    // for short tasks at a time of their own
  LeaderStreams* leader_streams = nullptr;  // may be null: then none is cut
  watch::Hub* watches = nullptr;            // a shard for each I/O loop
  Executor* readers = nullptr;              // for what reads too much for an I/O loop
  Executor* hasher = nullptr;               // for what reads everything
  rpc::AnswerMemory* answers = nullptr;     // may be null: then answers are not counted
  std::uint64_t cluster_id = 0;
  raft::MemberId member_id = raft::kNone;
  ServiceLimits limits;

  // Fills in what the instance is and has; the other fields are the owner's.
  void Use(Instance& of);

  ResponseHeader Header(std::int64_t revision, raft::Term term) const {
    return {
        .cluster_id = cluster_id, .member_id = member_id, .revision = revision, .raft_term = term};
  }
  ResponseHeader Header(std::int64_t revision) const;

  // Checks what every proposal must satisfy (the applied index keeps up, the entry is not too
  // large), then hands it over. The waiter is told of a refusal like of any other failure.
  void Propose(rpc::Loop* loop, RequestKind kind, std::string_view body,
               std::unique_ptr<Waiter> waiter, Duration timeout);
  // The same in a caller's name, whose permissions are looked at again where the entry is applied.
  // Permissions that changed on its way there, somebody else's as a rule, send it on its way once
  // more, and are the caller's concern only if they are the caller's.
  void ProposeFor(const rpc::Caller& caller, rpc::Loop* loop, RequestKind kind,
                  std::string_view body, std::unique_ptr<AdmittedWaiter> waiter, Duration timeout);
  // True if a write of this cost may be taken, as far as quota and this member's disks go.
  bool HasSpaceFor(std::uint64_t cost_bytes) const;
  // Refuses a write for lack of space, once the alarm stands; on any thread.
  void RefuseForSpace(rpc::Loop* loop, std::move_only_function<void(const Error& error)> refuse);

  // A view of the store for a read that the caller may make in that very state.
  Result<mvcc::ReadView> ReadFor(const rpc::Caller& caller, const mvcc::RangeRequest& request);
  Result<mvcc::ReadView> ReadFor(const rpc::Caller& caller, const mvcc::TxnRequest& request);

  // Hands over an entry as it is, but for the two checks.
  void SendEntry(rpc::Loop* loop, std::uint64_t id, SharedBytes entry,
                 std::unique_ptr<Waiter> waiter, TimePoint deadline);
};

}  // namespace kvorum::server
