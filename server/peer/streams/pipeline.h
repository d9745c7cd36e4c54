// Messages to a peer while there is no stream: each in a separate POST, a few at a time.
//
// Used on the loop's thread. Bounds: 64 waiting messages, 4 connections.
#pragma once

#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>

#include "server/peer/io/http_client.h"
#include "server/peer/io/peer_links.h"

namespace kvorum::server {

class Pipeline {
 public:
  struct Hooks {
    std::function<void()> on_lost;
    std::function<void()> on_written;
    std::function<bool()> is_member;  // false: a stranger, whose failures share a line a minute
  };

  Pipeline(PeerLinks& links, raft::MemberId peer, PeerUrls& urls, Hooks hooks);
  static constexpr std::size_t kMaxWaiting = 64;

  // Returns false if there is no room.
  bool Push(raft::Message message);

  // Aborts if one does not hold: messages wait within their bound, and only while each connection
  // is in use.
  void CheckInvariants() const;

 private:
  static constexpr std::size_t kConnections = 4;

  void Next();
  void Post(HttpClient& client, const raft::Message& message);

  PeerLinks& links_;
  const raft::MemberId peer_;
  PeerUrls& urls_;
  const Hooks hooks_;
  std::deque<raft::Message> waiting_;
  std::atomic<std::size_t>& waiting_count_;  // for the metrics
  std::array<std::unique_ptr<HttpClient>, kConnections> clients_;
  LogLimit failures_;
};

}  // namespace kvorum::server
