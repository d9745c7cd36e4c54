// Numbers about each member that this one exchanges messages with, for the metrics.
//
// Thread-safe. The numbers of a member stay when it leaves: they are sums since the start. Bound:
// those past kMostPeers, whose ids may be invented, are counted together.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <mutex>

#include "base/metric.h"
#include "proto/raft_types.h"

namespace kvorum::server {

class PeerMetrics {
 public:
  // The counts and times of snapshots in one direction.
  struct Snapshots {
    Counter succeeded;
    Counter failed;
    std::atomic<int> running{0};
    Histogram times{DoublingBounds(0.1, 10)};
  };
  // The messages in a queue to the member.
  struct Queued {
    std::atomic<std::size_t> messages{0};
    std::atomic<std::size_t> bytes{0};
    void Set(std::size_t count, std::size_t size_bytes) {
      messages.store(count, std::memory_order_relaxed);
      bytes.store(size_bytes, std::memory_order_relaxed);
    }
  };
  struct Of {
    Counter sent_bytes;
    Counter received_bytes;
    Counter send_failures;
    Counter receive_failures;
    Counter disconnections;
    std::atomic<bool> is_active{false};
    std::atomic<bool> was_active{false};
    Histogram round_trips{DoublingBounds(0.0001, 16)};
    Queued message_stream;
    Queued append_stream;
    std::atomic<std::size_t> waiting_posts{0};     // of the pipeline
    std::atomic<std::size_t> waiting_requests{0};  // about leases, for the leader
    Snapshots sent;
    Snapshots received;
  };

  // Valid as long as this object. A short lock.
  Of& operator[](raft::MemberId peer) {
    const std::lock_guard lock(mutex_);
    const bool has_room = peers_.size() < kMostPeers || peers_.contains(peer);
    return peers_[has_room ? peer : raft::kNone];
  }
  void ForEach(const std::function<void(raft::MemberId peer, const Of& metrics)>& visit) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [peer, metrics] : peers_) visit(peer, metrics);
  }

 private:
  static constexpr std::size_t kMostPeers = 256;
  mutable std::mutex mutex_;
  std::map<raft::MemberId, Of> peers_;
};

}  // namespace kvorum::server
