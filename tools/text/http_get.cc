#include "tools/text/http_get.h"

#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <time.h>

#include <cstdio>
#include <memory>
#include <vector>

#include "client/endpoint.h"
#include "rpc/client/client_socket.h"
#include "rpc/http/http1_parser.h"

namespace kvorum::ctl {
namespace {

constexpr std::size_t kMaxAnswerHeadBytes = std::size_t{64} << 10;
constexpr std::size_t kMaxAnswerBodyBytes = std::size_t{64} << 20;
constexpr std::size_t kReadBytes = std::size_t{64} << 10;

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

// From the form in which client/endpoint.h gives it: dns:///host:port or unix:path.
rpc::DialTarget TargetOf(std::string target) {
  if (target.starts_with("unix:"))
    return {.host = "", .port = "", .unix_path = target.substr(5), .authority = "localhost"};
  target.erase(0, std::string_view("dns:///").size());
  const std::size_t colon = target.rfind(':');
  const bool has_port = colon != std::string::npos && !target.ends_with(']');
  std::string host = target.substr(0, has_port ? colon : target.size());
  if (host.starts_with('[')) host = host.substr(1, host.size() - 2);
  return {.host = std::move(host),
          .port = has_port ? target.substr(colon + 1) : "443",
          .unix_path = "",
          .authority = target};
}

Result<HttpAnswer> Ask(rpc::ClientSocket& socket, const rpc::WaitLimit& limit,
                       std::string_view request) {
  KV_RETURN_IF_ERROR(socket.Write(request, limit));
  rpc::Http1Parser parser(rpc::Http1Parser::Kind::kResponse, kMaxAnswerHeadBytes);
  HttpAnswer answer;
  std::string input;
  std::vector<char> buffer(kReadBytes);
  while (!parser.done()) {
    const auto bytes = socket.Read(buffer, limit);
    // An answer without a length ends with the connection.
    if (!bytes.has_value() && parser.head_done() && parser.PutEnd().has_value()) break;
    if (!bytes.has_value()) return std::unexpected(bytes.error());
    if (*bytes == 0) return Fail(Code::kUnavailable, "i/o timeout");
    input.append(buffer.data(), *bytes);
    for (std::size_t used = 1; used != 0;) {
      KV_TRY(used, parser.Put(input, answer.body));
      input.erase(0, used);
    }
    if (answer.body.size() > kMaxAnswerBodyBytes)
      return Fail(Code::kUnavailable, "the answer is too long");
  }
  answer.status = parser.head().status;
  answer.date = ParseHttpDate(std::string(parser.head().Header("date")));
  if (socket.ssl() != nullptr)
    answer.certificate_end = EndOf(SSL_get0_peer_certificate(socket.ssl()));
  return answer;
}

}  // namespace

Result<HttpAnswer> HttpGet(const std::string& endpoint, std::string_view path,
                           const client::TlsOptions& tls, std::chrono::nanoseconds timeout) {
  const client::Endpoint parsed = client::ParseEndpoint(endpoint);
  using Security = client::Endpoint::Security;
  std::shared_ptr<rpc::TlsContext> context;
  if (parsed.security == Security::kTls ||
      (parsed.security == Security::kAsChosen && tls.enabled)) {
    rpc::TlsOptions options;
    options.certificate_file = tls.certificate_file;
    options.key_file = tls.key_file;
    options.trusted_ca_file = tls.ca_file;
    options.server_name = tls.server_name;
    options.skip_server_verification = tls.skip_verification;
    KV_TRY(context, rpc::TlsContext::Create(std::move(options)));
  }
  const rpc::DialTarget target = TargetOf(parsed.target);
  const rpc::WaitLimit limit(SystemClock().Now() + timeout);
  KV_TRY(rpc::ClientSocket socket, rpc::ClientSocket::Dial(target, context.get(), limit));
  return Ask(socket, limit,
             "GET " + std::string(path) + " HTTP/1.1\r\nHost: " + target.authority +
                 "\r\nUser-Agent: kvorumctl\r\nConnection: close\r\n\r\n");
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
