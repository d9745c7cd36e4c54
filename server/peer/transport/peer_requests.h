// Posts to one peer that are answered with a message (PeerPoster): a few connections, each with one
// request at a time, made when needed.
//
// Used on the loop's thread. Bounds: 32 connections, 8,192 waiting requests, 64 MiB per answer. If
// destroyed, it fails requests in progress.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>

#include "base/clock.h"
#include "server/peer/io/http_client.h"
#include "server/peer/io/peer_links.h"
#include "server/peer/transport/peer_poster.h"

namespace kvorum::server {

class PeerRequests {
 public:
  // `waiting_count` is for the metrics.
  PeerRequests(PeerLinks& links, PeerUrls& urls, std::atomic<std::size_t>& waiting_count)
      : links_(links), urls_(urls), waiting_count_(waiting_count) {}
  ~PeerRequests();
  PeerRequests(const PeerRequests&) = delete;
  PeerRequests& operator=(const PeerRequests&) = delete;

  static constexpr std::size_t kMaxWaiting = 8'192;

  void Post(std::string path, SharedBytes body, Duration timeout, PeerPoster::Done done);

 private:
  static constexpr std::size_t kConnections = 32;

  struct Request {
    std::string path;
    SharedBytes body;
    TimePoint deadline;
    PeerPoster::Done done;
  };
  struct Connection {
    std::unique_ptr<HttpClient> client;
    PeerPoster::Done done;  // of the request in progress
  };

  void Next();
  void Ask(Connection& connection, Request request);

  PeerLinks& links_;
  PeerUrls& urls_;
  std::deque<Request> waiting_;
  std::atomic<std::size_t>& waiting_count_;
  std::array<Connection, kConnections> connections_;
};

}  // namespace kvorum::server
