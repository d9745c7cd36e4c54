// The services of one simulated process, as production puts them over a member: Watch with its hub,
// Lease with its way to the leader, Auth with its logins. Requests come on the process's I/O
// executor.
//
// Destroyed after the member; BreakCalls before it, when the executors have ended.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/call/service.h"
#include "rpc/http/http.h"
#include "server/call/access.h"
#include "server/call/client_versions.h"
#include "server/call/interceptors.h"
#include "server/call/leader_streams.h"
#include "server/call/member_patches.h"
#include "server/call/quarantine.h"
#include "server/call/service_parts.h"
#include "server/process/process/services.h"
#include "server/services/auth/auth_service.h"
#include "server/services/auth/login.h"
#include "tests/sim/clients/client_stream.h"
#include "tests/sim/clients/passwords.h"
#include "tests/sim/judges/event_history.h"
#include "tests/sim/judges/replica_checks.h"
#include "tests/sim/world/world.h"
#include "watch/hub.h"

namespace kvorum::sim {

class Machine;

class Services {
 public:
  struct Options {
    watch::HubOptions hub;
    std::size_t watch_window_bytes = 0;
    Passwords* passwords = nullptr;
  };
  Services(World& world, Machine& machine, server::PeerPoster& poster, EventHistory& events,
           const Options& options);
  ~Services();
  Services(const Services&) = delete;
  Services& operator=(const Services&) = delete;

  void Call(std::shared_ptr<rpc::CallContext> call, std::string_view path, std::string_view request,
            rpc::UnaryReply reply);
  void Serve(std::string_view path, std::shared_ptr<ClientStream> stream);
  // Requests of other members.
  void ServePeer(std::string path, SharedBytes body, rpc::HttpReply reply);

  // The stream, or the call, ends with the process.
  void Adopt(const std::shared_ptr<ClientStream>& stream);
  void Adopt(const std::shared_ptr<rpc::CallContext>& call);
  void BreakCalls();

  const watch::Shard& watchers() { return hub_.shard(0); }
  std::int64_t AwaitedLag() { return hub_.LargestLag().awaited; }
  // Those for a lock or an election.
  std::size_t waiting_calls() const {
    return services_.lock.waiting().calls() + services_.election.waiting().calls();
  }
  // Null in runs without them.
  ReplicaChecks* checks() { return checks_.get(); }
  // The number of snapshots that have replaced this process's content.
  std::uint64_t installs() const { return installs_; }

 private:
  class Tee;

  server::RequestBatcher batcher_;
  watch::Hub hub_;
  std::unique_ptr<Tee> tee_;
  server::LeaderStreams leader_streams_;
  server::Access access_;
  const server::ServiceExecutors executors_;
  const server::ServiceLimits limits_;
  server::MemberPatches patches_;
  AnswerMemory answers_;
  server::ServiceParts parts_;
  server::Quarantine quarantine_;
  server::ClientVersions client_versions_;
  const std::atomic<bool> tells_status_alone_{false};
  const server::CallGuard guard_;
  server::Services services_;
  LanePasswordWork password_work_;
  server::Login login_;
  server::AuthService auth_;
  rpc::Router router_;
  rpc::HttpMux peers_;
  std::vector<std::shared_ptr<ClientStream>> streams_;
  std::vector<std::weak_ptr<rpc::CallContext>> calls_;
  std::uint64_t installs_ = 0;
  std::unique_ptr<ReplicaChecks> checks_;
};

}  // namespace kvorum::sim
