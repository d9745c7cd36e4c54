#include "server/peer/io/tls_listener.h"

#include <utility>

#include "base/log/logging.h"

namespace kvorum::server {
namespace {

constexpr Duration kTellInterval = std::chrono::minutes(1);
constexpr std::size_t kMaxTold = 64;

}  // namespace

Result<std::unique_ptr<PeerListener>> TlsListener::Bind(PeerLoop& loop, PeerLoop& handshake_loop,
                                                        const Url& url, const PeerTls& tls,
                                                        std::atomic<std::uint64_t>& rejected,
                                                        TlsHandshakes::Counts& counts,
                                                        rpc::PortUse use) {
  KV_TRY(auto inner, PeerListener::Bind(handshake_loop, url, use));
  return std::make_unique<TlsListener>(loop, handshake_loop, std::move(inner), tls,
                                       !url.unix_socket(), rejected, counts);
}

TlsListener::TlsListener(PeerLoop& loop, PeerLoop& handshake_loop,
                         std::unique_ptr<PeerListener> inner, const PeerTls& tls,
                         bool has_addresses, std::atomic<std::uint64_t>& rejected,
                         TlsHandshakes::Counts& counts)
    : loop_(loop),
      handshake_loop_(handshake_loop),
      inner_(std::move(inner)),
      tls_(tls.context),
      checks_addresses_(tls.checks_client_address && has_addresses),
      rejected_(rejected),
      address_check_(handshake_loop),
      handshakes_(handshake_loop,
                  {.timeout = tls.handshake_timeout,
                   .max_under_way = tls.max_handshakes,
                   .check =
                       [this](const TlsSocket& socket, std::weak_ptr<const void> wanted,
                              TlsHandshakes::Checked checked) {
                         Check(socket, std::move(wanted), std::move(checked));
                       },
                   .counts = &counts}) {}

void TlsListener::Start(Accepted accepted) {
  accepted_ = std::move(accepted);
  handshake_loop_.Post([this] {
    inner_->Start([this](std::unique_ptr<PeerSocket> socket) { OnAccepted(std::move(socket)); });
  });
}

void TlsListener::Close() {
  accepted_ = nullptr;
  handshake_loop_.Post([this] {
    inner_->Close();
    handshakes_.Close();
  });
}

void TlsListener::OnAccepted(std::unique_ptr<PeerSocket> socket) {
  std::string remote = socket->PeerAddress();
  handshakes_.Begin(std::move(socket), tls_->NewServer(),
                    [this, remote = std::move(remote)](Result<std::unique_ptr<TlsSocket>> shaken) {
                      if (!shaken.has_value()) return OnRejected(remote, shaken.error());
                      loop_.Post([this, moved = (*shaken)->MoveTo(loop_)]() mutable {
                        if (accepted_ != nullptr) accepted_(std::move(moved));
                      });
                    });
}

void TlsListener::Check(const TlsSocket& socket, std::weak_ptr<const void> wanted,
                        TlsHandshakes::Checked checked) {
  const auto identity = rpc::VerifiedIdentity(socket.ssl());
  if (!checks_addresses_ || !identity.has_value()) return checked({});
  address_check_.Run(*identity, socket.PeerAddress(), std::move(wanted), std::move(checked));
}

void TlsListener::OnRejected(const std::string& remote, const Error& error) {
  rejected_.fetch_add(1, std::memory_order_relaxed);
  // A check whether the port is open, as supervisors make it.
  if (error.message == TlsHandshakes::kLeftSilently) {
    KV_DEBUG("rejected connection on peer endpoint", {"remote-addr", remote},
             {"error", error.message});
    return;
  }
  const TimePoint now = handshake_loop_.clock().Now();
  if (now >= told_since_ + kTellInterval) {
    told_.clear();
    told_since_ = now;
  }
  if (told_.size() >= kMaxTold || !told_.insert(remote.substr(0, remote.rfind(':'))).second) return;
  KV_WARN("rejected connection on peer endpoint", {"remote-addr", remote}, {"error", error.message},
          {"rejected-so-far", rejected_.load(std::memory_order_relaxed)});
}

}  // namespace kvorum::server
