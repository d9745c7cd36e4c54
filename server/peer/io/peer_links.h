// State shared by the parts of one transport: the loop, our identity, the receiver of messages,
// counters.
//
// Used on the loop's thread, except the counters, which any thread may read.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/net/url.h"
#include "base/task.h"
#include "server/peer/codec/peer_metrics.h"
#include "server/peer/codec/transport.h"
#include "server/peer/io/peer_dialer.h"
#include "server/peer/io/peer_identity.h"
#include "server/peer/io/peer_loop.h"

namespace kvorum::rpc {
struct HttpHead;
}

namespace kvorum::server {

struct PeerOptions {
  Duration dial_timeout = std::chrono::seconds(2);
  Duration read_timeout = std::chrono::seconds(5);    // for a silent stream
  Duration answer_timeout = std::chrono::seconds(5);  // of a request
  Duration first_redial = std::chrono::milliseconds(100);
  Duration last_redial = std::chrono::seconds(1);  // each failure waits longer, up to this
  Duration probe_interval = std::chrono::seconds(4);
  std::uint64_t snapshot_bytes_per_second = 0;  // of each; 0: no limit
  std::size_t max_frame_bytes = std::size_t{64} << 20;
  // The bound of each stream's queue, and of the messages that Send handed over and the loop has
  // not processed yet.
  std::size_t max_queued_messages = 4'096;
  std::size_t max_queued_bytes = std::size_t{64} << 20;

  Duration link_heartbeat() const { return read_timeout / 3; }
};

struct PeerCounters {
  std::atomic<std::uint64_t> sent_messages{0};
  std::atomic<std::uint64_t> sent_bytes{0};
  std::atomic<std::uint64_t> received_messages{0};
  std::atomic<std::uint64_t> received_bytes{0};
  std::atomic<std::uint64_t> dropped_messages{0};  // ours, for lack of room or of a connection
  std::atomic<std::uint64_t> refused_messages{0};  // from peers: no correct member sends such
  std::atomic<std::uint64_t> broken_frames{0};     // streams closed because of their content
  std::atomic<std::uint64_t> refused_requests{0};  // under /raft
  std::atomic<std::uint64_t> sent_snapshots{0};
  std::atomic<std::uint64_t> failed_snapshots{0};
  std::atomic<std::uint64_t> open_streams{0};  // that peers read from us at present
};

// Lets one line a minute through, and counts the others.
class LogLimit {
 public:
  bool Allows(TimePoint now) {
    ++count_;
    if (count_ != 1 && now < logged_ + std::chrono::minutes(1)) return false;
    logged_ = now;
    return true;
  }
  std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_ = 0;
  TimePoint logged_;
};

struct PeerLinks {
  PeerLoop& loop;
  PeerDialer& dialer;
  Executor& disk;  // sources and sinks of snapshots
  const PeerOptions options;
  PeerIdentity identity{};
  TransportReceiver* receiver = nullptr;
  // Called when a member says that we were removed from the cluster.
  std::function<void()> on_removed{};
  PeerCounters counters{};
  // Lines about senders that are not members, whose ids anybody can invent.
  LogLimit stranger_failures{};
  PeerMetrics metrics{};
};

// A member's URLs: after a failure the next one is used. Not empty.
class PeerUrls {
 public:
  explicit PeerUrls(std::vector<Url> urls) : urls_(std::move(urls)) {}
  const Url& current() const { return urls_[current_]; }
  void Failed(const std::string& text) {
    if (urls_[current_].text() == text) current_ = (current_ + 1) % urls_.size();
  }
  void Replace(std::vector<Url> urls) {
    urls_ = std::move(urls);
    current_ = 0;
  }
  bool Are(const std::vector<Url>& urls) const;

 private:
  std::vector<Url> urls_;
  std::size_t current_ = 0;
};

// The value of the Host header.
std::string HostOf(const Url& url);

// True if an answer says that this member was removed: 410 on a stream, 403 with that text on a
// post; only from a server of our own cluster.
bool SaysRemoved(const rpc::HttpHead& head, std::string_view body, std::uint64_t cluster_id);

// The reason for ignoring a message that came by a stream or post of `sender`; empty if there is
// none. A sender that is not a member as far as we know is heard as a leader or candidate only: it
// may be one, if it is we who lag behind.
std::string_view RefusalOf(const raft::Message& message, raft::MemberId sender,
                           bool sender_is_member, raft::MemberId local);

}  // namespace kvorum::server
