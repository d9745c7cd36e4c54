// TLS handshakes that are under way, each given up after a time. They run on a loop of their own,
// so that neither their arithmetic nor the reading of certificate files delays what members say.
//
// Those who have said nothing yet and those who have are bounded apart, the oldest of them gives
// way: whoever only opens connections cannot push out a member, which speaks at once, and those who
// speak cost us so much that they cannot come faster than a member is through. Who has shown a good
// certificate gives way to nobody.
//
// Of that loop's thread. Destroyed or closed, it drops them without a callback.
#pragma once

#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <string_view>

#include "server/peer/peer_loop.h"
#include "server/peer/tls_socket.h"

namespace kvorum::server {

class TlsHandshakes {
 public:
  using Done = std::move_only_function<void(Result<std::unique_ptr<TlsSocket>> socket)>;
  // Looks at a connection whose handshake has succeeded; it calls back with whether it is good, and
  // may take as long as is left of the time. The socket lives until then, `wanted` as long as
  // anybody wants to know.
  using Checked = std::move_only_function<void(Result<void> outcome)>;
  using Check = std::function<void(const TlsSocket& socket, std::weak_ptr<const void> wanted,
                                   Checked checked)>;

  struct Options {
    Duration timeout{};
    std::size_t max_under_way = SIZE_MAX;  // of either kind
    Check check;                           // may be null
  };

  TlsHandshakes(PeerLoop& loop, Options options);
  ~TlsHandshakes();
  TlsHandshakes(const TlsHandshakes&) = delete;
  TlsHandshakes& operator=(const TlsHandshakes&) = delete;

  // A null `ssl`, for which there was no memory, is an error that `done` hears of at once.
  void Begin(std::unique_ptr<PeerSocket> socket, rpc::SslPtr ssl, Done done);
  void Close();
  // What becomes of a connection whose other side has left before it said anything.
  static constexpr std::string_view kLeftSilently = "EOF";

 private:
  struct Handshake;
  using Handshakes = std::list<std::shared_ptr<Handshake>>;  // the oldest first

  // The oldest gives way if there are too many.
  void Admit(const std::shared_ptr<Handshake>& handshake, Handshakes& place);
  void OnAnswered(const std::shared_ptr<Handshake>& handshake);
  void OnShaken(const std::shared_ptr<Handshake>& handshake);
  // Nothing if it has ended already.
  void End(const std::shared_ptr<Handshake>& handshake, Result<void> outcome);

  PeerLoop& loop_;
  const Options options_;
  Handshakes silent_;  // nothing whole has come yet
  Handshakes spoken_;
  Handshakes checked_;  // their certificate is good
};

}  // namespace kvorum::server
