// Proposes log entries for the services, after the checks that hold for every one.
//
// Thread-safe, like its parts, which outlive it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

#include "api/entries/internal_request.h"
#include "base/clock.h"
#include "rpc/call/call_context.h"
#include "server/apply/wait_table.h"
#include "server/call/cluster_facts.h"
#include "server/call/service_limits.h"

namespace kvorum::server {

class Access;
class AdmittedWaiter;
class LocalMember;
class RequestBatcher;
class RequestIdSource;
struct ServiceExecutors;

class Proposer {
 public:
  struct Parts {
    const ClusterFacts& cluster;
    const ServiceLimits& limits;
    LocalMember& member;  // for its ids, and for the space that it has
    RequestBatcher& batcher;
    const Access& access;
    const ServiceExecutors& executors;
  };
  explicit Proposer(const Parts& parts) : parts_(parts) {}

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

  const ClusterFacts& cluster() const { return parts_.cluster; }
  const ServiceLimits& limits() const { return parts_.limits; }
  RequestIdSource& ids();

 private:
  friend class AdmittedWaiter;
  // Hands over the entry of a request of this kind as it is, after the two checks.
  void SendEntry(rpc::Loop* loop, RequestKind kind, std::uint64_t id, SharedBytes entry,
                 std::unique_ptr<Waiter> waiter, TimePoint deadline);

  const Parts parts_;
};

}  // namespace kvorum::server
