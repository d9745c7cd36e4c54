// The transport between processes: etcd's peer protocol over HTTP/1.1
// (server/peer/codec/stream_codec.h, server/peer/io/request_checks.h), on its own thread.
//
// Bind, Listen, then Start; it then runs until Stop. Transport's contract holds from construction.
// The receiver outlives the transport's thread: stop this one first. Untrusted bytes are never
// trusted: frames, heads, bodies, queues and connections are bounded, and messages that no member
// sends are dropped, counted, and logged once a minute.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/net/url.h"
#include "rpc/http/http.h"
#include "server/peer/codec/transport.h"
#include "server/peer/io/peer_links.h"
#include "server/peer/streams/peer_server.h"
#include "server/peer/transport/peer_poster.h"

namespace kvorum::server {

class PeerTransport final : public Transport, public PeerPoster {
 public:
  struct Options {
    PeerOptions peers;
    PeerServerOptions server;
    std::optional<PeerTls> tls;  // needed if a URL asks for it
    std::string near_address;    // of connections to others; see ConnectPeer
  };
  struct Hooks {
    // Requests outside of the peer protocol: /version, /members. Called on the peer thread, must
    // not wait; HttpRequest::loop is null.
    rpc::HttpHandler http;
    // Called when a member says that we were removed from the cluster; on the peer thread, at most
    // once.
    std::function<void()> on_removed;
  };

  explicit PeerTransport(const Options& options);
  ~PeerTransport() override;

  // Returns the address with the actual port. Connections are refused until Listen, which comes
  // right before Start: peers that ask a member which is not ready must not wait for it.
  Result<std::string> Bind(const Url& url);
  Result<void> Listen();
  void Start(PeerIdentity identity, TransportReceiver& receiver, Hooks hooks);
  // Closes all connections and ends the threads; later calls do nothing.
  void Stop();

  // ---- Transport ----
  void Send(std::vector<raft::Message> messages) override;
  void SendSnapshot(raft::Message message, std::unique_ptr<mvcc::SnapshotSource> content) override;
  void SetMembers(std::shared_ptr<const MembershipView> view) override;
  std::optional<TimePoint> ActiveSince(raft::MemberId peer) const override;

  // ---- PeerPoster ----
  void Post(raft::MemberId to, std::string path, SharedBytes body, Duration timeout,
            Done done) override;

  // Aborts if one does not hold: each peer's; the streams counted as open are the peers'; who is
  // active has a stream that we read. Waits for the peer
  // thread, so it comes between Start and Stop.
  void CheckInvariants() const;

  // Any thread.
  const PeerCounters& counters() const;
  const PeerMetrics& metrics() const;
  const PeerServerStats& server_stats() const;
  const Options& options() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::server
