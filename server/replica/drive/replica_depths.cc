#include "server/replica/drive/replica_depths.h"

#include "raft/node.h"

namespace kvorum::server {

void ReplicaDepths::Publish(const raft::Node& node, std::size_t taken) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  log_bytes.store(node.log().size_bytes(), kRelaxed);
  uncommitted_bytes.store(node.log().uncommitted_data_bytes(), kRelaxed);
  unapplied_bytes.store(node.log().unapplied_size_bytes(), kRelaxed);
  applying_bytes.store(node.log().applying_size_bytes(), kRelaxed);
  held_messages.store(node.writes().waiting_messages(), kRelaxed);
  taken_proposals.store(taken, kRelaxed);
}

}  // namespace kvorum::server
