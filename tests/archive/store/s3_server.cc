#include "tests/archive/store/s3_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/ssl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <span>
#include <utility>

#include "archive/store/xml_tree.h"
#include "base/base64.h"
#include "base/digest/sha256.h"
#include "base/letter_case.h"
#include "base/text/escape_markup.h"
#include "base/text/percent.h"
#include "base/words.h"

namespace kvorum::archive {
namespace {

constexpr std::int64_t kAllowedSkewSeconds = 15 * 60;

std::string DigestBase64(const EVP_MD* kind, std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), &size, kind, nullptr);
  return EncodeBase64(Base64::kStandard, {reinterpret_cast<const char*>(digest.data()), size});
}

std::string Hmac(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(), &size);
  return {reinterpret_cast<const char*>(digest.data()), size};
}

std::string HeaderOf(const S3Server::Request& request, const std::string& name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? "" : found->second;
}

std::string ValueIn(std::string_view authorization, std::string_view name) {
  const std::size_t at = authorization.find(name);
  if (at == std::string_view::npos) return "";
  const std::string_view rest = authorization.substr(at + name.size());
  return std::string(rest.substr(0, rest.find(',')));
}

// The signature by AWS's description, from the request as it arrived.
std::string ExpectedSignature(const S3Server::Request& request, std::string_view authorization) {
  std::vector<std::string> query;
  if (!request.query.empty()) {
    for (const auto part : Split(request.query, '&')) query.emplace_back(part);
  }
  std::ranges::sort(query);
  std::string canonical = request.method + "\n" + request.path + "\n" + Join(query, "&") + "\n";
  const std::string names = ValueIn(authorization, "SignedHeaders=");
  for (const auto name : Split(names, ';')) {
    canonical += std::string(name) + ":" + HeaderOf(request, std::string(name)) + "\n";
  }
  canonical += "\n" + names + "\n" + HeaderOf(request, "x-amz-content-sha256");
  const std::string credential = ValueIn(authorization, "Credential=");
  const auto scope = Split(credential, '/');
  if (scope.size() != 5) return "";
  const std::string place = credential.substr(credential.find('/') + 1);
  std::string key = "AWS4" + std::string(S3Server::kSecretKey);
  for (const std::size_t part : {1U, 2U, 3U, 4U}) key = Hmac(key, scope[part]);
  return HexText(Hmac(key, "AWS4-HMAC-SHA256\n" + HeaderOf(request, "x-amz-date") + "\n" + place +
                               "\n" + Sha256Hex(canonical)));
}

std::map<std::string, std::string> QueryOf(const S3Server::Request& request) {
  std::map<std::string, std::string> values;
  if (request.query.empty()) return values;
  for (const auto part : Split(request.query, '&')) {
    const auto [name, value] = Cut(part, '=');
    values[PercentDecode(name)] = PercentDecode(value.value_or(""));
  }
  return values;
}

std::int64_t SecondsOf(const std::string& amz_date) {
  std::tm time = {};
  if (::strptime(amz_date.c_str(), "%Y%m%dT%H%M%SZ", &time) == nullptr) return 0;
  return ::timegm(&time);
}

std::string HttpDate(std::int64_t seconds) {
  const std::time_t value = seconds;
  std::tm time = {};
  ::gmtime_r(&value, &time);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &time);
  return text.data();
}

// A connection, plain or over TLS.
struct Wire {
  int fd;
  SSL* tls;

  ssize_t Send(std::string_view bytes) const {
    if (tls != nullptr) return ::SSL_write(tls, bytes.data(), static_cast<int>(bytes.size()));
    return ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  ssize_t Receive(std::span<char> out) const {
    if (tls != nullptr) return ::SSL_read(tls, out.data(), static_cast<int>(out.size()));
    return ::recv(fd, out.data(), out.size(), 0);
  }
};

bool SendAll(const Wire& wire, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = wire.Send(bytes);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Receive(const Wire& wire, std::string& buffer) {
  std::array<char, 16384> piece{};
  const ssize_t got = wire.Receive(piece);
  if (got <= 0) return false;
  buffer.append(piece.data(), static_cast<std::size_t>(got));
  return true;
}

// The next request of the connection.
bool ReadRequest(const Wire& wire, std::string& buffer, S3Server::Request& request) {
  std::size_t end = 0;
  while ((end = buffer.find("\r\n\r\n")) == std::string::npos) {
    if (!Receive(wire, buffer)) return false;
  }
  const std::string head = buffer.substr(0, end);
  buffer.erase(0, end + 4);
  request = {};
  bool is_first = true;
  for (const auto raw : Split(head, '\n')) {
    const auto line = Trim(raw);
    if (std::exchange(is_first, false)) {
      const auto words = Split(line, ' ');
      const auto [path, query] = Cut(words.at(1), '?');
      request.method = words.at(0);
      request.path = path;
      request.query = query.value_or("");
      continue;
    }
    const auto [name, value] = Cut(line, ':');
    request.headers[LowerCase(std::string(name))] = Trim(value.value_or(""));
  }
  if (HeaderOf(request, "expect") == "100-continue" &&
      !SendAll(wire, "HTTP/1.1 100 Continue\r\n\r\n")) {
    return false;
  }
  const std::string length = HeaderOf(request, "content-length");
  const std::size_t size = length.empty() ? 0 : std::stoul(length);
  while (buffer.size() < size) {
    if (!Receive(wire, buffer)) return false;
  }
  request.body = buffer.substr(0, size);
  buffer.erase(0, size);
  return true;
}

std::string Escaped(std::string_view key) {
  std::string text;
  for (const char c : key) {
    if (c == ' ') {
      text += '+';
    } else if (IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '/' ||
               c == '.' || c == '-' || c == '_') {
      text += c;
    } else {
      AppendPercentEscape(text, c);
    }
  }
  return text;
}

}  // namespace

struct S3Server::Answer {
  int status = 200;
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string body = {};
};

S3Server::S3Server(const std::string& certificate, const std::string& key) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL's writes to connections that ended
  if (!certificate.empty()) {
    tls_ = ::SSL_CTX_new(::TLS_server_method());
    if (::SSL_CTX_use_certificate_chain_file(tls_, certificate.c_str()) != 1 ||
        ::SSL_CTX_use_PrivateKey_file(tls_, key.c_str(), SSL_FILETYPE_PEM) != 1) {
      std::abort();
    }
  }
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      ::listen(listener_, 16) != 0 ||
      ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { Accept(); });
}

S3Server::~S3Server() {
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  {
    const std::lock_guard lock(mutex_);
    for (const int fd : open_) ::shutdown(fd, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  ::close(listener_);
  ::SSL_CTX_free(tls_);
}

void S3Server::Accept() {
  while (true) {
    const int fd = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (fd < 0) return;
    ++connections_;
    const std::lock_guard lock(mutex_);
    open_.insert(fd);
    threads_.emplace_back([this, fd] {
      Serve(fd);
      const std::lock_guard closing(mutex_);
      open_.erase(fd);
      ::close(fd);
    });
  }
}

void S3Server::Next(std::deque<Fault> faults) {
  const std::lock_guard lock(mutex_);
  faults_ = std::move(faults);
}

void S3Server::SetSessionToken(const std::string& token) {
  const std::lock_guard lock(mutex_);
  session_token_ = token;
}

void S3Server::Set(const std::string& key, const std::string& bytes, bool is_locked) {
  const std::lock_guard lock(mutex_);
  objects_[key] = {bytes, "\"v" + std::to_string(++versions_) + "\"", is_locked};
}

std::map<std::string, S3Server::Object> S3Server::objects() {
  const std::lock_guard lock(mutex_);
  return objects_;
}

std::vector<S3Server::Request> S3Server::requests() {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void S3Server::Serve(int fd) {
  const std::unique_ptr<SSL, void (*)(SSL*)> tls(tls_ == nullptr ? nullptr : ::SSL_new(tls_),
                                                 &::SSL_free);
  const Wire wire{fd, tls.get()};
  if (tls != nullptr && (::SSL_set_fd(tls.get(), fd) != 1 || ::SSL_accept(tls.get()) != 1)) return;
  std::string buffer;
  Request request;
  while (ReadRequest(wire, buffer, request)) {
    Fault fault = Fault::kNone;
    Answer answer;
    {
      const std::lock_guard lock(mutex_);
      requests_.push_back(request);
      if (!faults_.empty()) {
        fault = faults_.front();
        faults_.pop_front();
      }
      if (fault == Fault::kDropped) return;
      if (fault != Fault::kStall) answer = Handle(request, fault);
    }
    if (fault == Fault::kStall) {
      // Until the other side, or the server, ends the connection.
      while (Receive(wire, buffer)) {
      }
      return;
    }
    if (fault == Fault::kNoAnswer) return;
    std::string text = "HTTP/1.1 " + std::to_string(answer.status) +
                       " Text\r\nDate: " + HttpDate(unix_seconds_) + "\r\n";
    bool has_length = false;
    for (const auto& [name, value] : answer.headers) {
      text += name + ": " + value + "\r\n";
      has_length = has_length || name == "Content-Length";
    }
    if (!has_length) text += "Content-Length: " + std::to_string(answer.body.size()) + "\r\n";
    text += "\r\n";
    if (fault == Fault::kCutAnswer) {
      SendAll(wire, text + answer.body.substr(0, answer.body.size() / 2));
      return;
    }
    if (request.method != "HEAD") text += answer.body;
    if (!SendAll(wire, text)) return;
  }
}

S3Server::Answer S3Server::Failure(int status, std::string_view code, std::string_view message) {
  return {.status = status,
          .body = R"(<?xml version="1.0" encoding="UTF-8"?><Error><Code>)" + std::string(code) +
                  "</Code><Message>" + EscapeMarkup(message) + "</Message></Error>"};
}

// The code of the refusal; empty: the request is in order.
std::string S3Server::Refusal(const Request& request) {
  const std::string authorization = HeaderOf(request, "authorization");
  if (!ValueIn(authorization, "Credential=").starts_with(std::string(kAccessKey) + "/")) {
    return "InvalidAccessKeyId";
  }
  if (HeaderOf(request, "x-amz-security-token") != session_token_) return "InvalidToken";
  if (ExpectedSignature(request, authorization) != ValueIn(authorization, "Signature=")) {
    return "SignatureDoesNotMatch";
  }
  const std::string names = ";" + ValueIn(authorization, "SignedHeaders=") + ";";
  for (const auto& [name, value] : request.headers) {
    if ((name == "host" || name == "if-none-match" || name == "content-type" ||
         name == "content-md5" || name.starts_with("x-amz-")) &&
        !names.contains(";" + name + ";")) {
      return "AccessDenied";  // there were headers which were not signed
    }
  }
  if (std::abs(SecondsOf(HeaderOf(request, "x-amz-date")) - unix_seconds_) > kAllowedSkewSeconds) {
    return "RequestTimeTooSkewed";
  }
  if (HeaderOf(request, "x-amz-content-sha256") != Sha256Hex(request.body)) {
    return "XAmzContentSHA256Mismatch";
  }
  if (request.method == "PUT" || request.method == "POST") {
    const std::string md5 = HeaderOf(request, "content-md5");
    const std::string sha256 = HeaderOf(request, "x-amz-checksum-sha256");
    if (md5.empty() && sha256.empty()) return "InvalidRequest";
    if ((!md5.empty() && md5 != DigestBase64(EVP_md5(), request.body)) ||
        (!sha256.empty() && sha256 != DigestBase64(EVP_sha256(), request.body))) {
      return "BadDigest";
    }
  }
  return "";
}

S3Server::Answer S3Server::Handle(const Request& request, Fault fault) {
  if (fault == Fault::kSlowDown)
    return Failure(503, "SlowDown", "Please reduce your request rate.");
  if (fault == Fault::kInternalError) return Failure(500, "InternalError", "We are sorry.");
  if (fault == Fault::kConflict) return Failure(409, "ConditionalRequestConflict", "Another.");
  if (fault == Fault::kErrorInside) {
    Answer answer = Failure(200, "InternalError", "We are sorry.");
    return answer;
  }
  if (fault == Fault::kHugeAnswer) return {.body = std::string(std::size_t{5} << 20, 'x')};
  if (fault == Fault::kRedirect) {
    Answer answer = Failure(301, "PermanentRedirect", "Elsewhere.");
    answer.headers = {{"x-amz-bucket-region", "eu-central-1"}, {"Location", "http://127.0.0.1:1/"}};
    return answer;
  }
  if (const std::string code = Refusal(request); !code.empty()) {
    return Failure(code.starts_with("X") || code == "BadDigest" ? 400 : 403, code, "Refused.");
  }
  const std::string root = "/" + std::string(kBucket);
  if (request.path == root && request.method == "GET") {
    return HandleList(request, fault == Fault::kWrongOrder);
  }
  if (request.path == root && request.method == "POST") return HandleDelete(request);
  if (!request.path.starts_with(root + "/")) return Failure(404, "NoSuchBucket", "No such bucket.");
  return HandleObject(request, PercentDecode(request.path.substr(root.size() + 1)));
}

S3Server::Answer S3Server::HandleObject(const Request& request, const std::string& key) {
  const auto found = objects_.find(key);
  if (request.method == "PUT") {
    if (found != objects_.end() && HeaderOf(request, "if-none-match") == "*") {
      return Failure(412, "PreconditionFailed", "At least one of the conditions did not hold.");
    }
    objects_[key] = {request.body, "\"v" + std::to_string(++versions_) + "\"", false};
    return {};
  }
  if (found == objects_.end()) return Failure(404, "NoSuchKey", "The key does not exist.");
  const Object& object = found->second;
  if (const std::string wanted = HeaderOf(request, "if-match");
      !wanted.empty() && wanted != object.version) {
    return Failure(412, "PreconditionFailed", "At least one of the conditions did not hold.");
  }
  Answer answer{.headers = {{"ETag", object.version}}};
  if (object.is_locked) {
    answer.headers.emplace_back("x-amz-object-lock-mode", "COMPLIANCE");
    answer.headers.emplace_back("x-amz-object-lock-retain-until-date", "2027-01-31T00:00:00Z");
  }
  if (request.method == "HEAD") {
    if (tells_checksums_ && HeaderOf(request, "x-amz-checksum-mode") == "ENABLED") {
      answer.headers.emplace_back("x-amz-checksum-sha256",
                                  DigestBase64(EVP_sha256(), object.bytes));
    }
    answer.headers.emplace_back("Content-Length", std::to_string(object.bytes.size()));
    return answer;
  }
  answer.body = object.bytes;
  if (const std::string range = HeaderOf(request, "range"); !range.empty()) {
    const auto [first, last] = Cut(std::string_view(range).substr(range.find('=') + 1), '-');
    const std::size_t from = std::stoul(std::string(first));
    if (from >= object.bytes.size()) return Failure(416, "InvalidRange", "Not satisfiable.");
    const std::size_t to = last->empty()
                               ? object.bytes.size() - 1
                               : std::min(std::stoul(std::string(*last)), object.bytes.size() - 1);
    answer.status = 206;
    answer.body = object.bytes.substr(from, to - from + 1);
    answer.headers.emplace_back("Content-Range", "bytes " + std::to_string(from) + "-" +
                                                     std::to_string(to) + "/" +
                                                     std::to_string(object.bytes.size()));
  }
  return answer;
}

S3Server::Answer S3Server::HandleList(const Request& request, bool wrong_order) {
  auto query = QueryOf(request);
  std::string after = query["start-after"];
  if (const std::string token = query["continuation-token"]; !token.empty()) {
    after = DecodeBase64(Base64::kStandard, token).value_or("");
  }
  const std::size_t most = std::min<std::size_t>(page_size_, std::stoul(query["max-keys"]));
  std::vector<std::string> keys;
  bool is_cut = false;
  for (const auto& [key, object] : objects_) {
    if (!key.starts_with(query["prefix"]) || key <= after) continue;
    is_cut = keys.size() == most;
    if (is_cut) break;
    keys.push_back(key);
  }
  const std::string last = keys.empty() ? "" : keys.back();
  if (wrong_order) std::ranges::reverse(keys);
  std::string body =
      R"(<?xml version="1.0" encoding="UTF-8"?><ListBucketResult )"
      R"(xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><EncodingType>url</EncodingType>)";
  body += is_cut ? "<IsTruncated>true</IsTruncated><NextContinuationToken>" +
                       EncodeBase64(Base64::kStandard, last) + "</NextContinuationToken>"
                 : "<IsTruncated>false</IsTruncated>";
  for (const std::string& key : keys) {
    body += "<Contents><Key>" + Escaped(key) + "</Key><Size>" +
            std::to_string(objects_[key].bytes.size()) + "</Size></Contents>";
  }
  return {.body = body + "</ListBucketResult>"};
}

S3Server::Answer S3Server::HandleDelete(const Request& request) {
  const auto document = ParseXml(request.body);
  if (!document.has_value()) return Failure(400, "MalformedXML", "Not well-formed.");
  std::string body = "<DeleteResult>";
  for (const XmlElement& child : document->children) {
    if (child.name != "Object") continue;
    const std::string key(child.TextOf("Key"));
    const auto found = objects_.find(key);
    if (found == objects_.end()) continue;
    if (found->second.is_locked) {
      body += "<Error><Key>" + EscapeMarkup(key) +
              "</Key><Code>AccessDenied</Code><Message>Access Denied because object protected by "
              "object lock.</Message></Error>";
      continue;
    }
    objects_.erase(found);
  }
  return {.body = body + "</DeleteResult>"};
}

}  // namespace kvorum::archive
