#include "server/integrity/integrity.h"

#include "base/logging.h"

namespace kvorum::server {

Integrity::Integrity(Executor& executor, ServiceContext& context, PeerRequester& peers,
                     Quarantine& quarantine, const IntegrityOptions& options)
    : context_(context),
      peers_(peers),
      options_(options),
      hash_checks_(executor, context, peers, options.hash_checks),
      replica_check_(executor, context, peers, quarantine, options.replica_check) {}

Result<void> Integrity::CheckAtStart() {
  if (!options_.checks_at_start) return {};
  ClusterHashes source(context_, peers_);
  const Result<void> checked = HashChecks(source).AtStart();
  if (!checked.has_value())
    KV_ERROR("checkInitialHashKV failed", {"error", checked.error().message});
  return checked;
}

void Integrity::Start() {
  hash_checks_.Start();
  replica_check_.Start();
}

}  // namespace kvorum::server
