#include "server/integrity/integrity.h"

#include <utility>

#include "base/log/logging.h"
#include "server/call/access.h"
#include "server/call/reads.h"

namespace kvorum::server {

Integrity::Integrity(const Parts& parts, const IntegrityOptions& options)
    : parts_(parts),
      options_(options),
      hash_checks_(parts.executor, parts.proposer, parts.reads, parts.peers, options.hash_checks),
      replica_check_(parts.executor, parts.proposer, parts.reads, parts.peers, parts.quarantine,
                     options.replica_check),
      etcd_hashes_(parts.executor, parts.reads, parts.peers, options.etcd_hashes_interval),
      older_members_(parts.executor, parts.reads, parts.peers, options.older_members,
                     parts.patches) {}

Result<void> Integrity::CheckAtStart() {
  if (!options_.checks_at_start) return {};
  ClusterHashes source(parts_.proposer, parts_.reads, parts_.peers);
  const Result<void> checked = HashChecks(source).AtStart();
  if (!checked.has_value())
    KV_ERROR("checkInitialHashKV failed", {"error", checked.error().message});
  return checked;
}

Result<std::optional<std::string>> Integrity::CheckOlderMembers(const std::vector<Member>& others,
                                                                bool joins) {
  const bool is_auth_on = parts_.reads.access.state()->enabled();
  if (others.empty() || (!is_auth_on && !joins)) return std::nullopt;
  if (options_.older_members == OlderMembersAction::kWarn) return std::nullopt;
  const std::vector<OlderMember> older = FindOlderMembers(parts_.peers, others);
  if (older.empty()) return std::nullopt;
  std::string refusal = OlderMembersRefusal(older);
  if (is_auth_on) return Fail(Code::kFailedPrecondition, std::move(refusal));
  return refusal;
}

void Integrity::Start() {
  hash_checks_.Start();
  older_members_.Start();
  if (options_.replica_check != ReplicaCheckAction::kOff) etcd_hashes_.Start();
  replica_check_.Start();
}

}  // namespace kvorum::server
