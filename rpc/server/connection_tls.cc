// The TLS handshake of a connection, and the answer to clients that do not speak TLS.
#include <algorithm>
#include <array>
#include <utility>

#include "rpc/server/connection.h"

namespace kvorum::rpc {
namespace {

// The type of the first record of a handshake; no HTTP method begins with it.
constexpr char kHandshakeRecord = 0x16;
constexpr std::size_t kRecordHeaderBytes = 5;
constexpr char kClientHello = 1;
constexpr std::size_t kMessageHeaderBytes = 4;
constexpr std::size_t kMaxRecordBytes = TlsStream::kRecordBytes + 256;
// The first bytes of HTTP/1 requests, long enough to be certain.
constexpr std::array<std::string_view, 5> kHttpStarts{"GET /", "HEAD ", "POST ", "PUT /", "OPTIO"};
constexpr std::string_view kNoTlsAnswer =
    "HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n";

std::size_t NumberAt(std::string_view bytes, std::size_t at, std::size_t size) {
  std::size_t number = 0;
  for (const char byte : bytes.substr(at, size))
    number = number << 8 | static_cast<unsigned char>(byte);
  return number;
}

// True for the client's whole first message, in however many records, or for bytes that cannot
// start one. A message sent in small pieces is waited for, so that it takes no place.
bool IsWorthALook(std::string_view bytes) {
  if (bytes.size() > kMaxRecordBytes) return true;
  std::string message;  // the header of it
  std::size_t body_bytes = 0;
  while (bytes.size() >= kRecordHeaderBytes) {
    const std::size_t size = NumberAt(bytes, 3, 2);
    if (bytes.front() != kHandshakeRecord || size == 0 || size > kMaxRecordBytes) return true;
    const std::string_view record = bytes.substr(kRecordHeaderBytes, size);
    message += record.substr(0, kMessageHeaderBytes - message.size());
    body_bytes += record.size();
    if (message.size() == kMessageHeaderBytes) {
      const std::size_t whole = kMessageHeaderBytes + NumberAt(message, 1, 3);
      if (message.front() != kClientHello || body_bytes >= whole) return true;
    }
    if (record.size() < size) return false;
    bytes.remove_prefix(kRecordHeaderBytes + size);
  }
  return false;
}

TlsFailure KindOf(const TlsLink& link) {
  const bool absent = link.error() == kNoCertificateError;
  return absent || CertificateWasRefused(link.ssl()) ? TlsFailure::kCertificate
                                                     : TlsFailure::kOther;
}

}  // namespace

// Until the first record is whole a connection costs nothing but its bytes, and takes no place.
void Connection::OnHandshakeReadable() {
  // While it waits for its turn only a broken connection causes an event.
  if (!reading_) return Reject(TlsFailure::kGone, "EOF");
  if (socket_.tls() == nullptr) {
    const std::ptrdiff_t count = ReceiveBytes(socket_.fd(), per_loop_.input);
    if (count == Socket::kWouldBlock) return;
    if (count <= 0) return Reject(TlsFailure::kGone, "EOF");
    sniffed_.append(per_loop_.input.data(), static_cast<std::size_t>(count));
    if (sniffed_.front() != kHandshakeRecord) {
      state_ = how_.tls->plain_text_too ? State::kSniffing : State::kRefusing;
      return OnBytes(std::exchange(sniffed_, {}));
    }
    if (!IsWorthALook(sniffed_)) return;
  }
  Watch(/*reading=*/false, writing_);
  per_loop_.gate.Ready(*this);
}

void Connection::Shake() {
  const std::string first = std::exchange(sniffed_, {});
  if (socket_.tls() == nullptr) {
    SslPtr ssl = how_.tls->context->NewServer();
    if (ssl == nullptr) return Reject(TlsFailure::kOther, "out of memory");
    socket_.StartTls(std::move(ssl), per_loop_.tls_buffers);
  }
  TlsLink& link = *socket_.tls();
  std::size_t plain_size = 0;
  switch (link.Handshake(socket_.fd(), first, per_loop_.input, &plain_size)) {
    case TlsStream::Progress::kDone:
      return EndShaking(plain_size);
    case TlsStream::Progress::kFailed:
      if (link.error().empty()) return Reject(TlsFailure::kGone, "EOF");
      return Reject(KindOf(link), link.error());
    case TlsStream::Progress::kMore:
      Watch(/*reading=*/true, socket_.has_unsent());
  }
}

void Connection::EndShaking(std::size_t plain_size) {
  per_loop_.gate.Leave(*this);
  per_loop_.tls.handshakes.fetch_add(1, std::memory_order_relaxed);
  if (how_.tls->context->options().client_cert_auth) {
    if (auto identity = VerifiedIdentity(socket_.tls()->ssl()))
      certificate_name_ = SharedBytes::Own(std::move(identity->common_name));
  }
  state_ = State::kSniffing;
  // The first request has its own time limit.
  per_loop_.loop.Arm(timer_, per_loop_.loop.now() + per_loop_.options.handshake_timeout);
  Watch(/*reading=*/true, socket_.has_unsent());
  if (!refusal_.empty()) return SendRefusal();
  if (plain_size == 0) return;
  // This wake-up's hooks have run: work that the request leaves for them waits for the next.
  per_loop_.loop.StayAwake();
  OnBytes({per_loop_.input.data(), plain_size});
}

void Connection::Reject(TlsFailure kind, std::string_view why) {
  per_loop_.tls.failures[static_cast<std::size_t>(kind)].fetch_add(1, std::memory_order_relaxed);
  per_loop_.rejections.Add(per_loop_.loop.now(), kind, peer_.view(),
                           socket_.tls() == nullptr ? nullptr : socket_.tls()->ssl(), why);
  Close();
}

void Connection::GiveUpPlace() {
  Reject(TlsFailure::kTimeout, "tls: handshake timed out: its place was needed");
}

void Connection::RefusePlainText() {
  const auto begins = [this](std::string_view start) {
    return std::string_view(sniffed_).substr(0, start.size()) == start.substr(0, sniffed_.size());
  };
  const bool is_http = std::ranges::any_of(kHttpStarts, begins);
  if (is_http && sniffed_.size() < kHttpStarts.front().size()) return;
  if (is_http) {
    Socket::Pieces answer;
    answer.Add(kNoTlsAnswer);
    socket_.Write(answer);
  }
  constexpr std::string_view kWhy = "tls: first record does not look like a TLS handshake";
  if (!is_http) return Reject(TlsFailure::kPlainText, kWhy);
  per_loop_.tls.failures[static_cast<std::size_t>(TlsFailure::kPlainText)].fetch_add(
      1, std::memory_order_relaxed);
  per_loop_.rejections.Add(per_loop_.loop.now(), TlsFailure::kPlainText, peer_.view(), nullptr,
                           kWhy);
  Linger();
}

}  // namespace kvorum::rpc
