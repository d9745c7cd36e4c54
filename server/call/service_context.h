// State shared by the services: the replica, the store, this member's identity, and the limits. A
// service holds a reference to it from when its methods are registered (so that ports are bound
// before any data is touched); it is filled in before the first call comes.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "api/entries/internal_request.h"
#include "api/kv_encode.h"
#include "base/answer_memory.h"
#include "base/task.h"
#include "rpc/call/service.h"
#include "server/call/held_view.h"
#include "server/replica/drive/proposal.h"

namespace kvorum::watch {
class Hub;
}  // namespace kvorum::watch

namespace kvorum::server {

class Access;
class AdmittedWaiter;
class Alarms;
class ClientVersions;
class LocalMember;
class LeaderStreams;
class LeaseExpiry;
class Leases;
class Membership;
struct MemberPatches;
class PeerPoster;
class PromoteForwarder;
class Quarantine;
class Replica;
class RequestBatcher;
class RequestIdSource;
class Transport;

// The most memory that reads may hold; tests use less.
struct AnswerLimits {
  std::size_t max_bytes = INT32_MAX;               // of one answer, as gRPC has it
  std::size_t loop_bytes = std::size_t{64} << 10;  // read on an I/O loop
  std::size_t keep_bytes = std::size_t{4} << 20;   // of one answer, before it is made in pieces
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
  // The bytes that a Watch call may have to send before its watchers wait for the client.
  std::size_t watch_window_bytes = std::size_t{256} << 10;
  bool strict_reconfig_check = true;
  // Revocations of leases are taken while apply is up to twice as far behind as other writes may
  // find it: they are what takes load away.
  bool revokes_have_priority = false;
  std::size_t max_learners = 1;
  std::uint64_t snapshot_bytes_per_second = 0;  // of one that a client saves; 0: no limit
  AnswerLimits answers = {};
};

// The executors for work that an I/O loop must not do.
struct ServiceExecutors {
  Executor* timers = nullptr;    // for short timed tasks
  Executor* readers = nullptr;   // for large reads
  Executor* hasher = nullptr;    // for reads of everything
  Executor* digester = nullptr;  // for the SHA-256 of what the hasher read
  // For reads too long for an I/O loop that must not wait behind large ones; empty: the readers'.
  std::vector<Executor*> pages = {};

  // The pages' executor for the calls of this loop, which may be null.
  Executor& PagesOf(const rpc::Loop* loop) const;
};

struct ServiceContext {
  Replica* replica = nullptr;
  mvcc::Store* store = nullptr;
  Membership* membership = nullptr;
  Alarms* alarms = nullptr;
  Leases* leases = nullptr;
  LeaseExpiry* lease_expiry = nullptr;
  LocalMember* local_member = nullptr;  // for the space that it has
  RequestBatcher* batcher = nullptr;
  const Access* access = nullptr;
  RequestIdSource* ids = nullptr;
  const Transport* transport = nullptr;
  PromoteForwarder* promote_forwarder = nullptr;  // may be null: then only the leader promotes
  PeerPoster* poster = nullptr;  // to the leader; may be null: then only the leader knows about
                                 // leases
  LeaderStreams* leader_streams = nullptr;  // may be null: then no stream is cut
  watch::Hub* watches = nullptr;            // one shard for each I/O loop
  ServiceExecutors executors;
  AnswerMemory* answers = nullptr;            // may be null: then answers are not counted
  ClientVersions* client_versions = nullptr;  // may be null
  const MemberPatches* patches = nullptr;     // may be null: then none is known to forbid anything
  const Quarantine* quarantine = nullptr;     // may be null: then nothing keeps this member out
  // True while this member only tells how it is: it lacks data that it had acknowledged, and is not
  // published. May be null.
  const std::atomic<bool>* tells_status_alone = nullptr;
  std::uint64_t cluster_id = 0;
  raft::MemberId member_id = raft::kNone;
  ServiceLimits limits;

  // Fills in the member's parts; the other fields are the owner's.
  void Use(LocalMember& of);

  ResponseHeader Header(std::int64_t revision, raft::Term term) const {
    return {
        .cluster_id = cluster_id, .member_id = member_id, .revision = revision, .raft_term = term};
  }
  ResponseHeader Header(std::int64_t revision) const;

  // Checks the rules for every proposal (the applied index keeps up, the entry is not too large),
  // then hands it over. The waiter gets a refusal like any other failure.
  void Propose(rpc::Loop* loop, RequestKind kind, std::string_view body,
               std::unique_ptr<Waiter> waiter, Duration timeout);
  // The same in a caller's name, whose permissions are checked again where the entry is applied. If
  // permissions changed meanwhile, usually somebody else's, the entry is proposed again; the caller
  // notices only its own changes. Beside an older etcd the body is written anew first.
  void ProposeFor(const rpc::Caller& caller, rpc::Loop* loop, RequestKind kind,
                  std::string_view body, std::unique_ptr<AdmittedWaiter> waiter, Duration timeout);
  // True if a write of this cost is allowed by the quota and this member's disks.
  bool HasSpaceFor(std::uint64_t cost_bytes) const;
  // Refuses a write for lack of space, once the alarm is raised; on any thread.
  void RefuseForSpace(rpc::Loop* loop, std::move_only_function<void(const Error& error)> refuse);

  // A view of the store for a read that the caller may make in that very state.
  Result<HeldView> ReadFor(const rpc::Caller& caller, const mvcc::RangeRequest& request);
  Result<HeldView> ReadFor(const rpc::Caller& caller, const mvcc::TxnRequest& request);

  // Hands over the entry of a request of this kind as it is, after the two checks.
  void SendEntry(rpc::Loop* loop, RequestKind kind, std::uint64_t id, SharedBytes entry,
                 std::unique_ptr<Waiter> waiter, TimePoint deadline);
};

}  // namespace kvorum::server
