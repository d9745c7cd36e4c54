#include "tools/text/http_get.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <time.h>

#include <boost/asio/generic/stream_protocol.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <cstdio>
#include <memory>
#include <vector>

#include "client/endpoint.h"

namespace kvorum::ctl {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using boost::system::error_code;

// A connection with a time-out, to a TCP port or a unix socket: one type, because each takes g++
// seconds.
using Connection = beast::basic_stream<asio::generic::stream_protocol>;

constexpr std::uint64_t kMaxAnswerBodyBytes = 64 << 20;

std::unexpected<Error> FailHttp(const error_code& error) {
  return Fail(Code::kUnavailable, error.message());
}

std::optional<std::chrono::sys_seconds> EndOf(const X509* certificate) {
  std::tm end{};
  if (certificate == nullptr || ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &end) != 1)
    return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(timegm(&end)));
}

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::optional<std::chrono::sys_seconds> ParseHttpDate(const std::string& text) {
  std::tm date{};
  if (strptime(text.c_str(), "%a, %d %b %Y %H:%M:%S GMT", &date) == nullptr) return std::nullopt;
  return std::chrono::sys_seconds(std::chrono::seconds(timegm(&date)));
}

// Runs one asynchronous step to its end: only those heed the stream's time-out.
template <class Start>
error_code Await(asio::io_context& io, const Start& start) {
  error_code result;
  start([&result](const error_code& error, auto&&...) { result = error; });
  io.restart();
  io.run();
  return result;
}

template <class Stream>
Result<HttpAnswer> Exchange(asio::io_context& io, Stream& stream, const std::string& host,
                            std::string_view path) {
  const std::string request = "GET " + std::string(path) + " HTTP/1.1\r\nHost: " + host +
                              "\r\nUser-Agent: kvorumctl\r\nConnection: close\r\n\r\n";
  if (const auto error =
          Await(io, [&](auto done) { asio::async_write(stream, asio::buffer(request), done); }))
    return FailHttp(error);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMaxAnswerBodyBytes);
  if (const auto error =
          Await(io, [&](auto done) { http::async_read(stream, buffer, parser, done); }))
    return FailHttp(error);
  HttpAnswer answer;
  answer.status = parser.get().result_int();
  answer.body = std::move(parser.get().body());
  const auto date = parser.get()[http::field::date];
  answer.date = ParseHttpDate(std::string(date.data(), date.size()));
  return answer;
}

struct HttpTarget {
  std::string host;     // for the Host field and the certificate's names
  std::string service;  // a TCP port
  std::string path;     // of a unix socket
};

// From the form in which client/endpoint.h gives it: dns:///host:port or unix:path.
HttpTarget ParseHttpTarget(std::string target) {
  if (target.starts_with("unix:"))
    return {.host = "localhost", .service = "", .path = target.substr(5)};
  target.erase(0, std::string_view("dns:///").size());
  const std::size_t colon = target.rfind(':');
  if (colon == std::string::npos || target.ends_with(']'))
    return {.host = target, .service = "443", .path = ""};
  return {.host = target.substr(0, colon), .service = target.substr(colon + 1), .path = ""};
}

std::string WithoutBrackets(const std::string& host) {
  return host.starts_with('[') ? host.substr(1, host.size() - 2) : host;
}

Result<void> LoadFiles(ssl::context& context, const client::TlsOptions& tls) {
  error_code error;
  if (!tls.certificate_file.empty()) {
    context.use_certificate_chain_file(tls.certificate_file, error);
    if (!error) context.use_private_key_file(tls.key_file, ssl::context::pem, error);
    if (error) return FailHttp(error);
  }
  if (tls.skip_verification) {
    context.set_verify_mode(ssl::verify_none);
    return {};
  }
  context.set_verify_mode(ssl::verify_peer);
  if (tls.ca_file.empty())
    context.set_default_verify_paths(error);
  else
    context.load_verify_file(tls.ca_file, error);
  if (error) return FailHttp(error);
  return {};
}

Result<HttpAnswer> ExchangeUnderTls(asio::io_context& io, Connection& plain,
                                    const HttpTarget& target, std::string_view path,
                                    const client::TlsOptions& tls) {
  ssl::context context(ssl::context::tls_client);
  KV_RETURN_IF_ERROR(LoadFiles(context, tls));
  ssl::stream<Connection&> stream(plain, context);
  const std::string host = tls.server_name.empty() ? WithoutBrackets(target.host) : tls.server_name;
  // A name for SNI; a server does not mind an address there, and none of ours looks at it.
  SSL_set_tlsext_host_name(stream.native_handle(), host.c_str());
  if (!tls.skip_verification) stream.set_verify_callback(ssl::host_name_verification(host));
  if (const auto error =
          Await(io, [&](auto done) { stream.async_handshake(ssl::stream_base::client, done); }))
    return FailHttp(error);
  const std::unique_ptr<X509, decltype(&X509_free)> shown(
      SSL_get1_peer_certificate(stream.native_handle()), &X509_free);
  KV_TRY(HttpAnswer answer, Exchange(io, stream, target.host, path));
  answer.certificate_end = EndOf(shown.get());
  return answer;
}

Result<std::vector<Connection::endpoint_type>> AddressesOf(asio::io_context& io,
                                                           const HttpTarget& target) {
  std::vector<Connection::endpoint_type> addresses;
  if (!target.path.empty()) {
    addresses.emplace_back(asio::local::stream_protocol::endpoint(target.path));
    return addresses;
  }
  asio::ip::tcp::resolver resolver(io);
  error_code unresolved;
  for (const auto& found :
       resolver.resolve(WithoutBrackets(target.host), target.service, unresolved))
    addresses.emplace_back(found.endpoint());
  if (unresolved) return FailHttp(unresolved);
  return addresses;
}

}  // namespace

Result<HttpAnswer> HttpGet(const std::string& endpoint, std::string_view path,
                           const client::TlsOptions& tls, std::chrono::nanoseconds timeout) {
  const client::Endpoint parsed = client::ParseEndpoint(endpoint);
  using Security = client::Endpoint::Security;
  const bool in_tls =
      parsed.security == Security::kTls || (parsed.security == Security::kAsChosen && tls.enabled);
  const HttpTarget target = ParseHttpTarget(parsed.target);
  asio::io_context io;
  KV_TRY(const auto addresses, AddressesOf(io, target));
  Connection stream(io);
  stream.expires_after(timeout);
  error_code refused;
  for (const auto& address : addresses) {
    refused = Await(io, [&](auto done) { stream.async_connect(address, done); });
    if (!refused) break;
  }
  if (refused) return FailHttp(refused);
  if (in_tls) return ExchangeUnderTls(io, stream, target, path, tls);
  return Exchange(io, stream, target.host + (target.service.empty() ? "" : ":" + target.service),
                  path);
}

Result<std::chrono::sys_seconds> CertificateEnd(const std::string& file) {
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> opened(std::fopen(file.c_str(), "re"),
                                                               &std::fclose);
  if (opened == nullptr) return Fail(Code::kNotFound, file + " can't be read");
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      PEM_read_X509(opened.get(), nullptr, nullptr, nullptr), &X509_free);
  const auto end = EndOf(certificate.get());
  if (!end) return Fail(Code::kInvalidArgument, file + " holds no certificate");
  return *end;
}

}  // namespace kvorum::ctl
