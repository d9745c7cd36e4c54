#include "server/peer/io/tls_handshakes.h"

#include <utility>

namespace kvorum::server {

struct TlsHandshakes::Handshake {
  Handshake(PeerLoop& loop, std::unique_ptr<PeerSocket> inner, rpc::SslPtr ssl, Done told)
      : socket(std::make_unique<TlsSocket>(loop, std::move(inner), std::move(ssl))),
        timer(loop),
        done(std::move(told)) {}

  std::unique_ptr<TlsSocket> socket;
  PeerTimer timer;
  Done done;
  Handshakes* place = nullptr;
};

TlsHandshakes::TlsHandshakes(PeerLoop& loop, Options options)
    : loop_(loop), options_(std::move(options)) {}

TlsHandshakes::~TlsHandshakes() { Close(); }

void TlsHandshakes::Begin(std::unique_ptr<PeerSocket> socket, rpc::SslPtr ssl, Done done) {
  if (ssl == nullptr) {
    socket->Close();
    return done(Fail(Code::kResourceExhausted, "TLS handshake: out of memory"));
  }
  const auto handshake =
      std::make_shared<Handshake>(loop_, std::move(socket), std::move(ssl), std::move(done));
  Admit(handshake, silent_);
  const std::weak_ptr<Handshake> weak = handshake;
  handshake->timer.Arm(options_.timeout, [this, weak] {
    End(weak.lock(), Fail(Code::kDeadlineExceeded, "TLS handshake: timed out"));
  });
  handshake->socket->Handshake(
      [this, weak](const Result<void>& outcome) {
        if (!outcome.has_value()) return End(weak.lock(), outcome);
        OnShaken(weak.lock());
      },
      [this, weak] { OnAnswered(weak.lock()); });
}

void TlsHandshakes::Admit(const std::shared_ptr<Handshake>& handshake, Handshakes& place) {
  if (&place != &checked_ && place.size() >= options_.max_under_way) {
    // A copy: it leaves the list.
    End(std::shared_ptr<Handshake>(place.front()),
        Fail(Code::kResourceExhausted, "TLS handshake: given up for newer ones"));
  }
  if (handshake->place != nullptr) handshake->place->remove(handshake);
  handshake->place = &place;
  place.push_back(handshake);
  ShowCounts();
}

void TlsHandshakes::ShowCounts() const {
  if (options_.counts == nullptr) return;
  options_.counts->silent.store(silent_.size(), std::memory_order_relaxed);
  options_.counts->spoken.store(spoken_.size(), std::memory_order_relaxed);
}

void TlsHandshakes::OnAnswered(const std::shared_ptr<Handshake>& handshake) {
  if (handshake == nullptr || handshake->done == nullptr) return;
  Admit(handshake, spoken_);
}

void TlsHandshakes::OnShaken(const std::shared_ptr<Handshake>& handshake) {
  if (handshake == nullptr || handshake->done == nullptr) return;
  if (options_.check == nullptr) return End(handshake, {});
  Admit(handshake, checked_);
  options_.check(*handshake->socket, handshake,
                 [this, weak = std::weak_ptr(handshake)](const Result<void>& outcome) {
                   End(weak.lock(), outcome);
                 });
}

void TlsHandshakes::End(const std::shared_ptr<Handshake>& handshake, Result<void> outcome) {
  if (handshake == nullptr || handshake->done == nullptr) return;
  const bool was_silent = handshake->place == &silent_;
  handshake->place->remove(handshake);
  ShowCounts();
  handshake->timer.Disarm();
  Done done = std::exchange(handshake->done, nullptr);
  if (outcome.has_value()) return done(std::move(handshake->socket));
  handshake->socket->Close();
  Error error = std::move(outcome).error();
  if (was_silent && error.message == kEndUnannounced) error.message = kLeftSilently;
  done(std::unexpected(std::move(error)));
}

void TlsHandshakes::Close() {
  for (Handshakes* place : {&silent_, &spoken_, &checked_}) {
    for (const auto& handshake : std::exchange(*place, {})) {
      handshake->done = nullptr;
      handshake->socket->Close();
    }
  }
  ShowCounts();
}

}  // namespace kvorum::server
