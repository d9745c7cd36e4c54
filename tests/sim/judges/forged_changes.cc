#include "tests/sim/judges/forged_changes.h"

#include <memory>
#include <string>

namespace kvorum::sim {
namespace {

SharedBytes JointChange(const raft::Message& message, Rng& rng) {
  raft::ConfChangeV2 change;
  change.transition = rng.OneIn(2) ? raft::ConfChangeTransition::kJointImplicit
                                   : raft::ConfChangeTransition::kJointExplicit;
  change.changes.push_back({.type = raft::ConfChangeType::kRemoveNode,
                            .node_id = rng.OneIn(2) ? message.to : message.from});
  change.changes.push_back(
      {.type = raft::ConfChangeType::kAddNode, .node_id = raft::MemberId{1 + rng.Below(1000)}});
  std::string bytes;
  raft::AppendTo(bytes, change);
  return SharedBytes::Own(std::move(bytes));
}

bool IsForLeader(raft::MessageType type) {
  return type == raft::MessageType::kProp || type == raft::MessageType::kAppResp ||
         type == raft::MessageType::kHeartbeatResp;
}

}  // namespace

std::optional<raft::Message> WithForgedChange(const raft::Message& message, Rng& rng) {
  if (message.type == raft::MessageType::kApp && !message.entries.empty()) {
    raft::Message forged = message;
    forged.entries.back().type = raft::EntryType::kConfChangeV2;
    forged.entries.back().data = JointChange(message, rng);
    return forged;
  }
  if (!IsForLeader(message.type)) return std::nullopt;
  raft::Message forged{.type = raft::MessageType::kProp, .to = message.to, .from = message.from};
  if (message.type == raft::MessageType::kProp) forged.entries = message.entries;
  forged.entries.push_back(
      {.type = raft::EntryType::kConfChangeV2, .data = JointChange(message, rng)});
  return forged;
}

raft::Message WithForgedConfiguration(const raft::Message& snapshot, Rng& rng) {
  raft::Message forged = snapshot;
  raft::Snapshot content = *snapshot.snapshot;
  raft::ConfState& conf = content.metadata.conf_state;
  conf.voters_outgoing = conf.voters;
  if (rng.OneIn(2)) conf.voters.push_back(raft::MemberId{1 + rng.Below(1000)});
  conf.auto_leave = rng.OneIn(2);
  forged.snapshot = std::make_shared<const raft::Snapshot>(std::move(content));
  return forged;
}

}  // namespace kvorum::sim
