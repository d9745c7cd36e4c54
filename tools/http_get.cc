#include "tools/http_get.h"

#include <openssl/pem.h>
#include <openssl/x509.h>
#include <time.h>

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>
#include <cstdio>
#include <memory>

#include "client/endpoint.h"

namespace kvorum::ctl {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace ssl = asio::ssl;
using boost::system::error_code;

constexpr std::uint64_t kMaxBodyBytes = 64 << 20;

std::unexpected<Error> Failed(const error_code& error) {
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
  http::request<http::empty_body> request(http::verb::get, {path.data(), path.size()}, 11);
  request.set(http::field::host, host);
  request.set(http::field::user_agent, "kvorumctl");
  request.set(http::field::connection, "close");
  if (const auto error = Await(io, [&](auto done) { http::async_write(stream, request, done); }))
    return Failed(error);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMaxBodyBytes);
  if (const auto error =
          Await(io, [&](auto done) { http::async_read(stream, buffer, parser, done); }))
    return Failed(error);
  HttpAnswer answer;
  answer.status = parser.get().result_int();
  answer.body = std::move(parser.get().body());
  const auto date = parser.get()[http::field::date];
  answer.date = ParseHttpDate(std::string(date.data(), date.size()));
  return answer;
}

struct Target {
  std::string host;     // for the Host field and the certificate's names
  std::string service;  // a TCP port
  std::string path;     // of a unix socket
};

// From the form in which client/endpoint.h gives it: dns:///host:port or unix:path.
Target ParseTarget(std::string target) {
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
    if (error) return Failed(error);
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
  if (error) return Failed(error);
  return {};
}

template <class Stream>
Result<HttpAnswer> ExchangeUnderTls(asio::io_context& io, Stream& plain, const Target& target,
                                    std::string_view path, const client::TlsOptions& tls) {
  ssl::context context(ssl::context::tls_client);
  KV_RETURN_IF_ERROR(LoadFiles(context, tls));
  beast::ssl_stream<Stream&> stream(plain, context);
  const std::string host = tls.server_name.empty() ? WithoutBrackets(target.host) : tls.server_name;
  // A name for SNI; a server does not mind an address there, and none of ours looks at it.
  SSL_set_tlsext_host_name(stream.native_handle(), host.c_str());
  if (!tls.skip_verification) stream.set_verify_callback(ssl::host_name_verification(host));
  if (const auto error =
          Await(io, [&](auto done) { stream.async_handshake(ssl::stream_base::client, done); }))
    return Failed(error);
  const std::unique_ptr<X509, decltype(&X509_free)> shown(
      SSL_get1_peer_certificate(stream.native_handle()), &X509_free);
  KV_TRY(HttpAnswer answer, Exchange(io, stream, target.host, path));
  answer.certificate_end = EndOf(shown.get());
  return answer;
}

template <class Stream>
Result<HttpAnswer> Get(asio::io_context& io, Stream& stream, const Target& target,
                       std::string_view path, const client::TlsOptions& tls, bool in_tls) {
  if (in_tls) return ExchangeUnderTls(io, stream, target, path, tls);
  return Exchange(io, stream, target.host + (target.service.empty() ? "" : ":" + target.service),
                  path);
}

}  // namespace

Result<HttpAnswer> HttpGet(const std::string& endpoint, std::string_view path,
                           const client::TlsOptions& tls, std::chrono::nanoseconds timeout) {
  const client::Endpoint parsed = client::ParseEndpoint(endpoint);
  using Security = client::Endpoint::Security;
  const bool in_tls =
      parsed.security == Security::kTls || (parsed.security == Security::kAsChosen && tls.enabled);
  const Target target = ParseTarget(parsed.target);
  asio::io_context io;
  if (!target.path.empty()) {
    beast::basic_stream<asio::local::stream_protocol> stream(io);
    stream.expires_after(timeout);
    const asio::local::stream_protocol::endpoint address(target.path);
    if (const auto error = Await(io, [&](auto done) { stream.async_connect(address, done); }))
      return Failed(error);
    return Get(io, stream, target, path, tls, in_tls);
  }
  asio::ip::tcp::resolver resolver(io);
  error_code unresolved;
  const auto addresses = resolver.resolve(WithoutBrackets(target.host), target.service, unresolved);
  if (unresolved) return Failed(unresolved);
  beast::tcp_stream stream(io);
  stream.expires_after(timeout);
  if (const auto error = Await(io, [&](auto done) { stream.async_connect(addresses, done); }))
    return Failed(error);
  return Get(io, stream, target, path, tls, in_tls);
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
