// The fill of the replica's queues, for the metrics.
//
// Read by any thread. Written by the raft executor once for all that it did in a turn, but for the
// reads and the messages, which are counted as they come. Each value is the last one written.
#pragma once

#include <atomic>
#include <cstddef>

namespace kvorum::raft {
class Node;
}  // namespace kvorum::raft

namespace kvorum::server {

struct ReplicaDepths {
  std::atomic<std::size_t> reads{0};     // batches of linearizable reads without an answer
  std::atomic<std::size_t> messages{0};  // of peers, not yet passed to Raft
  std::atomic<std::size_t> message_bytes{0};
  std::atomic<std::size_t> log_bytes{0};          // in memory
  std::atomic<std::size_t> uncommitted_bytes{0};  // of a leader's log
  std::atomic<std::size_t> unapplied_bytes{0};    // committed
  std::atomic<std::size_t> applying_bytes{0};     // given out to be applied
  std::atomic<std::size_t> held_messages{0};      // that wait for the disk
  std::atomic<std::size_t> taken_proposals{0};    // ids that a leader remembers

  void SetMessages(std::size_t count, std::size_t size_bytes) {
    messages.store(count, std::memory_order_relaxed);
    message_bytes.store(size_bytes, std::memory_order_relaxed);
  }
  // On the raft executor.
  void Publish(const raft::Node& node, std::size_t taken);
};

}  // namespace kvorum::server
