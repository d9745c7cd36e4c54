// The connection of a probe, and its end: TCP, and TLS over it. Within the check's time-out, which
// counts from the first Connect.
//
// On the thread of the io_context; Boost's headers, so only for the library's own sources.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "sync/checks/name_lookups.h"
#include "sync/checks/prober.h"

namespace kvorum::sync {

// HOST:PORT, HOST or [HOST]:PORT.
Address ParseAddress(const std::string& text, const std::string& default_port);
// Nothing if it has to be looked up.
std::optional<boost::asio::ip::tcp::endpoint> EndpointOf(const Address& address);
// The text of a probe that has waited for its time-out.
std::string NoAnswerText(Duration timeout);

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  // The lookups are of the same io_context, and end before it.
  Connection(boost::asio::io_context& io, NameLookups& lookups, Duration timeout,
             Prober::OnEnd on_end);

  // Goes on with `on_connected`, or ends the probe. May be called again when nothing is under way
  // on the socket: that is closed first.
  void Connect(const Address& address, std::function<void()> on_connected);
  // The first end counts.
  void End(ProbeResult result);

  boost::asio::ip::tcp::socket socket;

 private:
  void StartTimer();

  NameLookups& lookups_;
  boost::asio::steady_timer timer_;
  bool is_timed_ = false;
  const Duration timeout_;
  Prober::OnEnd on_end_;
  Address address_;  // of the lookup
  std::optional<std::uint64_t> lookup_;
};

using TlsStream = boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>;

// Connects, and handshakes as a client; http2: offers h2 alone. Goes on with a stream that keeps
// the connection alive, or ends the probe.
void ConnectUnderTls(const std::shared_ptr<Connection>& connection, const Address& address,
                     const CheckTls& options, bool is_http2,
                     std::function<void(const std::shared_ptr<TlsStream>& stream)> on_secure);

}  // namespace kvorum::sync
