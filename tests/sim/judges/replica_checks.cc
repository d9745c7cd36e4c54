#include "tests/sim/judges/replica_checks.h"

#include <memory>
#include <string>
#include <utility>

#include "api/entries/history_json.h"
#include "api/member_id.h"
#include "base/check.h"
#include "tests/sim/world/machine.h"

namespace kvorum::sim {
namespace {

constexpr Duration kLongestReseed = std::chrono::minutes(10);

}  // namespace

ReplicaChecks::ReplicaChecks(Machine& machine, server::ServiceParts& parts,
                             server::Quarantine& quarantine)
    : machine_(machine),
      parts_(parts),
      quarantine_(quarantine),
      check_(machine.lane(LaneKind::kIntegrity), parts.proposer, parts.reads,
             *machine.options().peers, quarantine, server::ReplicaCheckAction::kQuarantine),
      reseeder_(machine.lane(LaneKind::kIntegrity), *machine.options().peers, parts.reads,
                quarantine) {
  static_cast<void>(quarantine_.Load());
  check_.Start();
}

void ReplicaChecks::Reseed(std::function<void(Result<void>)> done) {
  reseeder_.Reseed(machine_.clock().Now() + kLongestReseed, std::move(done));
}

server::PeerAnswer ReplicaChecks::Serve(std::string_view path) {
  if (path.starts_with(server::kHistoryPath)) {
    const server::MemberHistory own{
        .member = parts_.cluster.member_id,
        .serves = !is_out(),
        .history = parts_.reads.store.history_sum().Newest(mvcc::HistorySum::kMaxPoints)};
    return {.status = 200, .cluster_id = {}, .body = EncodeHistoryJson(own)};
  }
  if (!path.starts_with(server::kReseedPrefix))
    return {.status = 404, .cluster_id = {}, .body = {}};
  const auto member = server::ParseMemberId(path.substr(server::kReseedPrefix.size()));
  KV_CHECK(member.has_value(), "a member asks in no member's name");
  // Only an immediate refusal is returned: in one thread no call could wait for the rest.
  auto outcome = std::make_shared<Result<void>>();
  SendFreshSnapshot(parts_.proposer, quarantine_, *member,
                    [outcome](Result<void> begun) { *outcome = std::move(begun); });
  if (outcome->has_value()) return {.status = 200, .cluster_id = {}, .body = {}};
  return {.status = 503, .cluster_id = {}, .body = outcome->error().message};
}

}  // namespace kvorum::sim
