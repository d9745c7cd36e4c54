#include "server/peer/io/peer_dialer.h"

#include <utility>

namespace kvorum::server {

PeerDialer::PeerDialer(PeerLoop& loop, PeerLoop& handshake_loop, const PeerTls* tls,
                       std::string near_address)
    : loop_(loop),
      handshake_loop_(handshake_loop),
      near_address_(std::move(near_address)),
      tls_(tls == nullptr ? nullptr : tls->context),
      handshakes_(handshake_loop,
                  {.timeout = tls == nullptr ? Duration::zero() : tls->handshake_timeout,
                   .check = nullptr}) {}

void PeerDialer::Dial(const Url& url, Duration timeout, DialDone done) {
  if (!url.tls()) return ConnectPeer(loop_, url, near_address_, timeout, std::move(done));
  if (tls_ == nullptr) {
    return loop_.Post([done = std::move(done), text = url.text()]() mutable {
      done(Fail(Code::kUnavailable, "dial " + text + ": no certificates are configured for peers"));
    });
  }
  DialDone told = [&loop = loop_,
                   done = std::move(done)](Result<std::unique_ptr<PeerSocket>> socket) mutable {
    if (socket.has_value()) *socket = (*socket)->MoveTo(loop);
    loop.Post([done = std::move(done), socket = std::move(socket)]() mutable {
      done(std::move(socket));
    });
  };
  handshake_loop_.Post([this, url, timeout, told = std::move(told)]() mutable {
    DialTls(url, timeout, std::move(told));
  });
}

// Runs on the handshakes' thread.
void PeerDialer::DialTls(const Url& url, Duration timeout, DialDone done) {
  ConnectPeer(
      handshake_loop_, url, near_address_, timeout,
      [this, url, done = std::move(done)](Result<std::unique_ptr<PeerSocket>> connected) mutable {
        if (!connected.has_value()) return done(std::move(connected));
        handshakes_.Begin(
            *std::move(connected), tls_->NewClient(url.host()),
            [text = url.text(),
             done = std::move(done)](Result<std::unique_ptr<TlsSocket>> socket) mutable {
              if (socket.has_value()) return done(*std::move(socket));
              done(Fail(socket.error().code, "dial " + text + ": " + socket.error().message));
            });
      });
}

}  // namespace kvorum::server
