// HTTP/1.1 on the peer port: reads and bounds requests, and writes the answers; the handler knows
// their meaning. A stream's connection is handed over to the handler.
//
// Used on the loop's thread, except Listen, which comes before Start. Bounds: the connections (at
// the cap the oldest one that never sent a member's request makes room), the time for a head,
// between the pieces of a body and for a whole message, the size of heads, and the bytes of all
// heads and of all bodies being collected, with those that receivers keep. Only bytes of the body
// itself are pieces: its framing buys no time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "rpc/http/http.h"
#include "rpc/http/http1_parser.h"
#include "server/peer/io/peer_loop.h"
#include "server/peer/io/peer_socket.h"
#include "server/peer/io/peer_tls.h"
#include "server/peer/io/tls_handshakes.h"

namespace kvorum::server {

struct PeerServerOptions {
  std::size_t max_connections = 512;
  std::size_t max_head_bytes = std::size_t{64} << 10;
  std::size_t max_gathered_bytes = std::size_t{256} << 20;  // of all requests
  Duration head_timeout = std::chrono::seconds(10);         // from when the connection's first byte
                                                            // is due
  Duration idle_timeout = std::chrono::minutes(1);          // between requests
  Duration body_timeout = std::chrono::seconds(30);         // between two pieces
  // For a whole body, as in etcd; not for one that a member's request passes on piece by piece.
  Duration message_timeout = std::chrono::minutes(5);
  rpc::PortUse port_use = rpc::PortUse::kAlone;
};

// Receives the body of one request piece by piece. Destroyed early when the connection breaks.
class BodyReceiver {
 public:
  // Called on the loop: goes on without an answer, or ends with one.
  using Next = std::move_only_function<void(std::optional<rpc::HttpResponse> answer)>;
  virtual ~BodyReceiver() = default;
  // `last` comes once, perhaps without bytes; its Next must have an answer.
  virtual void Take(std::string bytes, bool last, Next next) = 0;
  // The bytes that it keeps of a part which it needs whole, and those that are announced of it.
  // They count as a body that is being collected.
  virtual std::size_t held_bytes() const { return 0; }
};

// The handling of a request, decided by its head.
struct GatherBody {
  std::size_t max_bytes = 0;  // more is answered with 413
  std::function<void(const rpc::HttpHead& head, SharedBytes body, rpc::HttpReply reply)> handle;
};
struct StreamBody {
  std::unique_ptr<BodyReceiver> receiver;
  std::vector<rpc::HttpHeader> headers;  // of its answer, beside the answer's own
};
// Answered with 200, these headers and no length; then the socket belongs to the taker.
struct TakeConnection {
  std::vector<rpc::HttpHeader> headers;
  std::function<void(std::unique_ptr<PeerSocket> socket)> taker;
};
struct RequestPlan {
  std::variant<rpc::HttpResponse, GatherBody, StreamBody, TakeConnection> action;
  bool is_from_member = false;  // as far as its head shows
};

// Any thread may read them.
struct PeerServerStats {
  std::atomic<std::uint64_t> accepted{0};
  std::atomic<std::uint64_t> open{0};
  std::atomic<std::uint64_t> evicted{0};       // to make room, or refused because there was none
  std::atomic<std::uint64_t> bad_requests{0};  // malformed, too large, too many or too slow
  std::atomic<std::uint64_t> rejected{0};      // under TLS: no handshake, or too late
  std::atomic<std::size_t> gathered_bytes{0};
  TlsHandshakes::Counts handshakes;
};

class PeerServer {
 public:
  using Handler = std::function<RequestPlan(const rpc::HttpHead& head)>;

  PeerServer(PeerLoop& loop, PeerServerOptions options);
  ~PeerServer();
  // Returns the address with the actual port.
  Result<std::string> Bind(const Url& url);
  // Under TLS, with handshakes on another loop, which ends before this server is destroyed.
  Result<std::string> BindTls(const Url& url, PeerLoop& handshake_loop, const PeerTls& tls);
  // Connections are refused before. An error if another process listens there by now.
  Result<void> Listen();
  void Start(Handler handler);
  // Closes everything.
  void Close();
  const PeerServerStats& stats() const { return stats_; }

 private:
  class Session;

  void Accept(std::unique_ptr<PeerSocket> socket);
  void Forget(Session& session);

  PeerLoop& loop_;
  const PeerServerOptions options_;
  Handler handler_;
  std::vector<std::unique_ptr<PeerListener>> listeners_;
  std::list<std::shared_ptr<Session>> sessions_;  // the oldest first
  PeerServerStats stats_;
};

}  // namespace kvorum::server
