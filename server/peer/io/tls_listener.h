// A peer port under TLS: it passes on connections that have completed the handshake and the checks.
//
// Implements PeerListener towards the owner's loop; it accepts on the handshakes' loop. Destroyed
// once both have ended, before they are. Failures are counted, and logged once a minute for each
// host (of 64), except when the host leaves silently.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>

#include "server/peer/io/client_address.h"
#include "server/peer/io/peer_links.h"
#include "server/peer/io/peer_socket.h"
#include "server/peer/io/peer_tls.h"
#include "server/peer/io/tls_handshakes.h"

namespace kvorum::server {

class TlsListener final : public PeerListener {
 public:
  // `rejected` counts refused connections, `counts` the handshakes in progress (with several
  // listeners those of the one where something changed last), for any thread.
  static Result<std::unique_ptr<PeerListener>> Bind(PeerLoop& loop, PeerLoop& handshake_loop,
                                                    const Url& url, const PeerTls& tls,
                                                    std::atomic<std::uint64_t>& rejected,
                                                    TlsHandshakes::Counts& counts,
                                                    rpc::PortUse use);
  TlsListener(PeerLoop& loop, PeerLoop& handshake_loop, std::unique_ptr<PeerListener> inner,
              const PeerTls& tls, bool has_addresses, std::atomic<std::uint64_t>& rejected,
              TlsHandshakes::Counts& counts);

  Result<void> Listen() override { return inner_->Listen(); }
  void Start(Accepted accepted) override;
  void Close() override;
  const std::string& address() const override { return inner_->address(); }

 private:
  // ---- on the handshakes' thread ----
  void OnAccepted(std::unique_ptr<PeerSocket> socket);
  void Check(const TlsSocket& socket, std::weak_ptr<const void> wanted,
             TlsHandshakes::Checked checked);
  void OnRejected(const std::string& remote, const Error& error);

  PeerLoop& loop_;
  PeerLoop& handshake_loop_;
  const std::unique_ptr<PeerListener> inner_;
  const std::shared_ptr<rpc::TlsContext> tls_;
  const bool checks_addresses_;
  std::atomic<std::uint64_t>& rejected_;
  Accepted accepted_;  // the loop's; null once closed
  ClientAddressCheck address_check_;
  TlsHandshakes handshakes_;
  std::unordered_set<std::string> told_;  // hosts for which a line was logged since then
  TimePoint told_since_;
};

}  // namespace kvorum::server
