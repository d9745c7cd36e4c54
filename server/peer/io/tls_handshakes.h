// TLS handshakes in progress, each given up after a time. They run on a separate loop, so that
// neither their arithmetic nor the reading of certificate files delays members' messages.
//
// Handshakes whose other end has sent nothing yet and those whose has are bounded separately, and
// the oldest of its kind gives way: a client that only opens connections cannot push out a member,
// which sends at once, and those that send cost us so much that they cannot come faster than a
// member gets through. A peer that has shown a good certificate never gives way.
//
// Used on that loop's thread. If destroyed or closed, it drops them without a callback.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string_view>

#include "server/peer/io/peer_loop.h"
#include "server/peer/io/tls_socket.h"

namespace kvorum::server {

class TlsHandshakes {
 public:
  using Done = std::move_only_function<void(Result<std::unique_ptr<TlsSocket>> socket)>;
  // Checks a connection whose handshake has succeeded; it calls back with the outcome, and may take
  // as long as is left of the time. The socket lives until then, `wanted` as long as anybody wants
  // the outcome.
  using Checked = std::move_only_function<void(Result<void> outcome)>;
  using Check = std::function<void(const TlsSocket& socket, std::weak_ptr<const void> wanted,
                                   Checked checked)>;

  // Those in progress, for the metrics; any thread may read them.
  struct Counts {
    std::atomic<std::size_t> silent{0};
    std::atomic<std::size_t> spoken{0};
  };
  struct Options {
    Duration timeout{};
    std::size_t max_under_way = SIZE_MAX;  // of either kind
    Check check;                           // may be null
    Counts* counts = nullptr;              // may be null
  };

  TlsHandshakes(PeerLoop& loop, Options options);
  ~TlsHandshakes();
  TlsHandshakes(const TlsHandshakes&) = delete;
  TlsHandshakes& operator=(const TlsHandshakes&) = delete;

  // A null `ssl`, for which there was no memory, is an error reported to `done` at once.
  void Begin(std::unique_ptr<PeerSocket> socket, rpc::SslPtr ssl, Done done);
  void Close();
  // The error of a connection whose other side has left before it sent anything.
  static constexpr std::string_view kLeftSilently = "EOF";

 private:
  struct Handshake;
  using Handshakes = std::list<std::shared_ptr<Handshake>>;  // the oldest first

  // If there are too many, the oldest gives way.
  void Admit(const std::shared_ptr<Handshake>& handshake, Handshakes& place);
  void OnAnswered(const std::shared_ptr<Handshake>& handshake);
  void OnShaken(const std::shared_ptr<Handshake>& handshake);
  // Does nothing if it has already ended.
  void End(const std::shared_ptr<Handshake>& handshake, Result<void> outcome);
  void ShowCounts() const;

  PeerLoop& loop_;
  const Options options_;
  Handshakes silent_;  // nothing whole has come yet
  Handshakes spoken_;
  Handshakes checked_;  // with a good certificate
};

}  // namespace kvorum::server
