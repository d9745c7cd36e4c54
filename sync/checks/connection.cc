#include "sync/checks/connection.h"

#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/address.hpp>
#include <utility>

#include "base/text/parse_number.h"

namespace kvorum::sync {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
namespace ssl = asio::ssl;
using boost::system::error_code;

// The files are read anew for each probe, so that renewed ones count.
error_code Prepare(ssl::context& context, const CheckTls& options) {
  error_code error;
  context.set_verify_mode(options.skip_verify ? ssl::verify_none : ssl::verify_peer, error);
  if (error || options.skip_verify) return error;
  if (options.ca_file.empty())
    context.set_default_verify_paths(error);
  else
    context.load_verify_file(options.ca_file, error);
  return error;
}

// A connection under TLS.
struct TlsConnection {
  // A prepared context: the stream takes over what it says.
  TlsConnection(std::shared_ptr<Connection> connection, ssl::context prepared)
      : plain(std::move(connection)),
        context(std::move(prepared)),
        stream(plain->socket, context) {}

  const std::shared_ptr<Connection> plain;
  ssl::context context;
  TlsStream stream;
};

// The name that the certificate must have; addresses are not sent to the server (RFC 6066).
void SetServerName(TlsStream& stream, const std::string& name, bool skip_verify) {
  error_code is_name;
  asio::ip::make_address(name, is_name);
  if (is_name) SSL_set_tlsext_host_name(stream.native_handle(), name.c_str());
  error_code ignored;  // there is none that a callback's setting can fail with
  if (!skip_verify) stream.set_verify_callback(ssl::host_name_verification(name), ignored);
}

void OfferHttp2(TlsStream& stream) {
  static constexpr std::array<unsigned char, 3> kH2 = {2, 'h', '2'};
  SSL_set_alpn_protos(stream.native_handle(), kH2.data(), kH2.size());
}

}  // namespace

Address ParseAddress(const std::string& text, const std::string& default_port) {
  const std::size_t colon = text.rfind(':');
  const bool has_port = colon != std::string::npos && !text.ends_with(']');
  Address address{.host = text.substr(0, has_port ? colon : text.size()),
                  .port = has_port ? text.substr(colon + 1) : default_port};
  if (address.host.starts_with('[') && address.host.ends_with(']'))
    address.host = address.host.substr(1, address.host.size() - 2);
  return address;
}

std::optional<tcp::endpoint> EndpointOf(const Address& address) {
  error_code is_name;
  const auto host = asio::ip::make_address(address.host, is_name);
  const auto port = ParseNumber<std::uint16_t>(address.port);
  if (is_name || !port) return std::nullopt;
  return tcp::endpoint(host, *port);
}

std::string NoAnswerText(Duration timeout) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(timeout);
  return "no answer within " + std::to_string(ms.count()) + " ms";
}

Connection::Connection(asio::io_context& io, NameLookups& lookups, Duration timeout,
                       Prober::OnEnd on_end)
    : socket(io), lookups_(lookups), timer_(io), timeout_(timeout), on_end_(std::move(on_end)) {}

void Connection::StartTimer() {
  if (std::exchange(is_timed_, true)) return;
  timer_.expires_after(timeout_);
  timer_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->End({.output = NoAnswerText(self->timeout_)});
  });
}

void Connection::Connect(const Address& address, std::function<void()> on_connected) {
  if (!on_end_) return;
  StartTimer();
  error_code ignored;
  socket.close(ignored);
  lookup_ = std::nullopt;
  const auto connected = [self = shared_from_this(),
                          on_connected = std::move(on_connected)](const error_code& failed) {
    if (failed) return self->End({.output = failed.message()});
    on_connected();
  };
  if (const auto endpoint = EndpointOf(address)) return socket.async_connect(*endpoint, connected);
  address_ = address;
  lookup_ = lookups_.Begin(
      address, [self = shared_from_this(), connected](const error_code& error, const auto& found) {
        if (error) return self->End({.output = error.message()});
        asio::async_connect(
            self->socket, found,
            [connected](const error_code& failed, const tcp::endpoint&) { connected(failed); });
      });
}

void Connection::End(ProbeResult result) {
  if (!on_end_) return;
  timer_.cancel();
  if (lookup_) lookups_.Cancel(address_, *lookup_);
  error_code ignored;
  socket.close(ignored);
  std::exchange(on_end_, nullptr)(std::move(result));
}

void ConnectUnderTls(const std::shared_ptr<Connection>& connection, const Address& address,
                     const CheckTls& options, bool is_http2,
                     std::function<void(const std::shared_ptr<TlsStream>& stream)> on_secure) {
  ssl::context context(ssl::context::tls_client);
  if (const error_code error = Prepare(context, options)) {
    return connection->End({.output = options.ca_file.empty()
                                          ? error.message()
                                          : options.ca_file + ": " + error.message()});
  }
  const auto tls = std::make_shared<TlsConnection>(connection, std::move(context));
  SetServerName(tls->stream, options.server_name.empty() ? address.host : options.server_name,
                options.skip_verify);
  if (is_http2) OfferHttp2(tls->stream);
  connection->Connect(address, [tls, on_secure = std::move(on_secure)] {
    tls->stream.async_handshake(ssl::stream_base::client,
                                [tls, on_secure](const error_code& error) {
                                  if (error)
                                    return tls->plain->End({.output = "TLS: " + error.message()});
                                  on_secure(std::shared_ptr<TlsStream>(tls, &tls->stream));
                                });
  });
}

}  // namespace kvorum::sync
