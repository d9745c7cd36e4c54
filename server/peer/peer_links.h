// What the parts of one transport share: the loop, who we are, who gets what arrives, counters.
//
// Of the loop's thread, but for the counters, which any thread may read.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/url.h"
#include "server/peer/peer_dialer.h"
#include "server/peer/peer_identity.h"
#include "server/peer/peer_loop.h"
#include "server/peer/transport.h"

namespace kvorum::rpc {
struct HttpHead;
}

namespace kvorum::server {

struct PeerOptions {
  Duration dial_timeout = std::chrono::seconds(2);
  Duration read_timeout = std::chrono::seconds(5);    // of a stream that says nothing
  Duration answer_timeout = std::chrono::seconds(5);  // of a request
  Duration first_redial = std::chrono::milliseconds(100);
  Duration last_redial = std::chrono::seconds(1);  // each failure waits longer, up to this
  Duration probe_interval = std::chrono::seconds(4);
  std::size_t max_frame_bytes = std::size_t{64} << 20;
  // Of each stream's queue, and of what Send handed over and the loop has not seen yet.
  std::size_t max_queued_messages = 4'096;
  std::size_t max_queued_bytes = std::size_t{64} << 20;

  Duration link_heartbeat() const { return read_timeout / 3; }
};

struct PeerCounters {
  std::atomic<std::uint64_t> sent_messages{0};
  std::atomic<std::uint64_t> sent_bytes{0};
  std::atomic<std::uint64_t> received_messages{0};
  std::atomic<std::uint64_t> received_bytes{0};
  std::atomic<std::uint64_t> dropped_messages{0};  // ours, for want of room or a connection
  std::atomic<std::uint64_t> refused_messages{0};  // of peers: no member sends such
  std::atomic<std::uint64_t> broken_frames{0};     // streams that were closed for what they held
  std::atomic<std::uint64_t> refused_requests{0};  // under /raft
  std::atomic<std::uint64_t> sent_snapshots{0};
  std::atomic<std::uint64_t> failed_snapshots{0};
  std::atomic<std::uint64_t> open_streams{0};  // that peers read from us, now
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
  // A member says that we were removed from the cluster.
  std::function<void()> on_removed{};
  PeerCounters counters{};
};

// A member's URLs: the next one is taken when one fails. Not empty.
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

// As the Host header has it.
std::string HostOf(const Url& url);

// Whether an answer says that we are a member no more: 410 on a stream, 403 with that text on a
// post; of a server of our own cluster only.
bool SaysRemoved(const rpc::HttpHead& head, std::string_view body, std::uint64_t cluster_id);

// Why a message that came by a stream or post of `sender` is not to be heard; empty if it is. One
// who is no member as far as we know is heard as a leader or candidate only: that it may be, if we
// are the one who lags behind.
std::string_view RefusalOf(const raft::Message& message, raft::MemberId sender,
                           bool sender_is_member, raft::MemberId local);

}  // namespace kvorum::server
