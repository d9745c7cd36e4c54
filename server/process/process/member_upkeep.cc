#include "server/process/process/member_upkeep.h"

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/member.h"
#include "api/member_id.h"
#include "server/process/machine/machine_memory.h"
#include "server/process/machine/process_threads.h"
#include "server/process/process/client_server.h"
#include "server/process/process/serving.h"
#include "server/process/settings/part_options.h"
#include "server/replica/member/local_member.h"
#include "server/services/maintenance/defragment_turn_http.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

FreedMemory::Parts MemoryOf(ClientServer& clients) {
  return {.take_peak_bytes = [&clients] { return clients.answers().TakePeakBytes(); },
          .used_bytes = [&clients] { return clients.answers().used_bytes(); },
          .closed_connections =
              [&clients] {
                const rpc::Stats stats = clients.server().stats();
                return stats.accepted_connections - stats.open_connections;
              },
          .resident_bytes = ResidentAnonymousBytes,
          .trim = TrimHeaps};
}

AutoDefragment::Hooks HooksOf(mvcc::Store& store, PeerRequester& requester,
                              const ClusterFacts& cluster, DefragmentTurns& turns) {
  return {.size_bytes = [&store] { return store.SizeBytes(); },
          .in_use_bytes = [&store] { return store.SizeInUseBytes(); },
          .ask =
              [&requester, &cluster, &turns](DefragmentTurns::Request request) {
                return AskForDefragmentTurn(requester, cluster, turns, request);
              },
          .defragment =
              [&store](std::move_only_function<void(Result<void>)> done) {
                store.Defragment(std::move(done));
              }};
}

}  // namespace

MemberUpkeep::MemberUpkeep(const Parts& parts)
    : parts_(parts),
      version_monitor_(parts.threads.members, parts.requester, parts.serving.parts().proposer,
                       kPeerDialTimeout + std::chrono::milliseconds(parts.options.election_ms)),
      auto_defragment_(parts.threads.members, AutoDefragmentOptions(parts.options),
                       HooksOf(parts.member.store(), parts.requester, parts.serving.parts().cluster,
                               defragment_turns_)),
      reseeder_(parts.threads.members, parts.requester, parts.serving.parts().reads,
                parts.quarantine),
      integrity_({.executor = parts.threads.integrity,
                  .proposer = parts.serving.parts().proposer,
                  .reads = parts.serving.parts().reads,
                  .peers = parts.requester,
                  .quarantine = parts.quarantine,
                  .patches = parts.serving.patches()},
                 MakeIntegrityOptions(parts.options)),
      freed_memory_(parts.threads.members, MemoryOf(parts.clients)) {}

Result<void> MemberUpkeep::CheckAtStart(bool was_member) {
  KV_RETURN_IF_ERROR(CheckOlderMembers());
  return was_member ? integrity_.CheckAtStart() : Result<void>();
}

// A member that has not published its client URLs yet still joins, also after a restart.
Result<void> MemberUpkeep::CheckOlderMembers() {
  const Options& options = parts_.options;
  const raft::MemberId own_id = parts_.member.member_id();
  const auto view = parts_.member.membership().View();
  const auto self = view->members.find(own_id);
  const bool is_known = self != view->members.end();
  const bool joins = options.initial_cluster_state == "existing" &&
                     (!is_known || self->second.client_urls.empty());
  std::vector<Member> others;
  if (is_known) {
    for (const auto& [id, member] : view->members)
      if (id != own_id) others.push_back(member);
  } else if (joins) {
    KV_TRY(others,
           ParseInitialCluster(options.EffectiveInitialCluster(), options.initial_cluster_token));
    std::erase_if(others, [&](const Member& member) { return member.name == options.name; });
  }
  KV_TRY(std::optional<std::string> refusal, integrity_.CheckOlderMembers(others, joins));
  if (refusal.has_value()) parts_.member.RefuseAuthWhileJoining(*std::move(refusal));
  return {};
}

void MemberUpkeep::Start() {
  version_monitor_.Start();
  integrity_.Start();
  freed_memory_.Start();
  auto_defragment_.Start();
}

}  // namespace kvorum::server
