#include "rpc/server/connection.h"

#include <algorithm>
#include <span>
#include <utility>

#include "base/log/logging.h"
#include "rpc/http1/http1_session.h"
#include "rpc/http2/http2_session.h"

namespace kvorum::rpc {
namespace {

// RFC 7540, section 3.5: the start of an HTTP/2 connection. No HTTP/1 method begins with "PRI ".
constexpr std::string_view kHttp2Start = "PRI ";
constexpr std::string_view kHttp2 = "h2";  // ALPN's name
// The number of full batches that one connection writes before others have their turn.
constexpr int kBatchesPerFlush = 4;
// A peer that does not close gets this much time, and may send this much, to read the last bytes:
// closing earlier would reset the connection and could destroy them on their way.
constexpr Duration kLingerTime = std::chrono::seconds(2);
constexpr std::size_t kLingerBytes = 1024 * 1024;

void Add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) {
  // There is one writer: no need for a locked addition.
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace

Connection::Connection(PerLoop& per_loop, Socket socket, SharedBytes peer, ListenOptions how,
                       std::move_only_function<void(Connection*)> on_closed)
    : per_loop_(per_loop),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      how_(std::move(how)),
      on_closed_(std::move(on_closed)),
      state_(how_.tls == nullptr ? State::kSniffing : State::kShaking) {
  per_loop_.loop.Watch(socket_.fd(), *this, reading_, writing_);
  per_loop_.loop.Arm(timer_, per_loop_.loop.now() + per_loop_.options.handshake_timeout);
}

Connection::~Connection() { Close(); }

void Connection::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  per_loop_.gate.Leave(*this);
  per_loop_.loop.Disarm(timer_);
  per_loop_.loop.DropFlush(*this);
  per_loop_.loop.Unwatch(socket_.fd(), *this);
  socket_.Close();
  session_.reset();  // cancels its calls
  pending_ = {};
  held_.Set(0);
  per_loop_.loop.DropFlush(*this);
  per_loop_.loop.StayAwake();
  on_closed_(this);
}

void Connection::Refuse(SharedBytes answer) {
  refusal_ = std::move(answer);
  if (state_ == State::kSniffing) SendRefusal();
}

void Connection::SendRefusal() {
  // HTTP/1.1 means nothing to a client that has chosen HTTP/2. A new connection takes it all.
  const bool is_understood =
      socket_.tls() == nullptr || NegotiatedProtocol(socket_.tls()->ssl()) != kHttp2;
  Socket::Pieces answer;
  answer.Add(refusal_.view());
  if (is_understood && socket_.Write(answer) < 0) return Close();
  Linger();
}

void Connection::OnReady(bool readable, bool writable) {
  if (writable) WantFlush();
  if (readable && state_ == State::kShaking) return OnHandshakeReadable();
  if (readable) OnReadable();
}

void Connection::OnReadable() {
  const std::ptrdiff_t count = socket_.Read(per_loop_.input);
  if (socket_.has_unsent()) WantFlush();  // TLS answers by itself
  if (count == Socket::kWouldBlock) return;
  if (count < 0) return Close();
  if (count == 0) {
    // The second end is the connection's: poll reports it even if it was not asked to.
    if (state_ != State::kServing || input_ended_) return Close();
    input_ended_ = true;
    session_->OnInputEnd();
    return WatchAsNeeded();
  }
  Add(per_loop_.received_bytes, static_cast<std::uint64_t>(count));
  OnBytes({per_loop_.input.data(), static_cast<std::size_t>(count)});
}

void Connection::OnBytes(std::string_view bytes) {
  switch (state_) {
    case State::kSniffing:
      if (!refusal_.empty()) return SendRefusal();
      sniffed_.append(bytes);
      if (!StartSession()) break;
      session_->OnInput(std::exchange(sniffed_, {}));
      WatchAsNeeded();
      break;
    case State::kServing:
      session_->OnInput(bytes);
      // Not only after the next write: none may come while the client goes on sending.
      WatchAsNeeded();
      break;
    case State::kLingering:
      lingered_bytes_ += bytes.size();
      if (lingered_bytes_ > kLingerBytes) Close();
      break;
    case State::kRefusing:
      sniffed_.append(bytes);
      RefusePlainText();
      break;
    case State::kShaking:  // decrypted elsewhere
    case State::kClosed:
      break;
  }
}

bool Connection::StartSession() {
  const bool is_plain = socket_.tls() == nullptr;
  const std::string_view chosen =
      is_plain ? std::string_view() : NegotiatedProtocol(socket_.tls()->ssl());
  bool is_http2 = chosen == kHttp2;
  if (chosen.empty()) {
    const std::size_t compared = std::min(sniffed_.size(), kHttp2Start.size());
    is_http2 = sniffed_.compare(0, compared, kHttp2Start.substr(0, compared)) == 0;
    if (is_http2 && compared < kHttp2Start.size()) return false;  // it may still be "PROPFIND"
  }
  using enum Http2Session::Serves;
  Http2Session::Serves serves = is_plain ? kGrpc : kGrpcAndHttp;
  switch (how_.traffic) {
    case Traffic::kGrpcAndHttp:
      break;
    case Traffic::kGrpc:
      // Settings, then the end: all that a server of HTTP/2 says to anything else.
      is_http2 = true;
      serves = kGrpc;
      break;
    case Traffic::kHttp:
      if (is_http2 && is_plain) {
        Close();
        return false;
      }
      serves = kHttp;
      break;
  }
  if (is_http2) {
    session_ = std::make_unique<Http2Session>(per_loop_, *this, peer_, certificate_name_, serves);
  } else {
    session_ = std::make_unique<Http1Session>(per_loop_, *this, peer_, certificate_name_,
                                              /*is_secure=*/!is_plain);
  }
  state_ = State::kServing;
  return true;
}

void Connection::OnEstablished() {
  if (state_ == State::kServing) per_loop_.loop.Disarm(timer_);
}

bool Connection::FlushPending() {
  const int flushed = socket_.Flush();
  if (flushed < 0) Close();
  if (flushed <= 0) return false;
  if (pending_.empty()) return true;
  OutputBatch& batch = per_loop_.output;
  std::size_t taken = 0;
  while (taken < pending_.size() && !batch.full()) batch.Append(pending_[taken++]);
  std::vector<SharedBytes> rest;
  const std::ptrdiff_t written = batch.WriteTo(socket_, &rest);
  if (written < 0) {
    Close();
    return false;
  }
  Add(per_loop_.sent_bytes, static_cast<std::uint64_t>(written));
  const bool took_all = rest.empty() && !socket_.has_unsent();
  rest.insert(rest.end(), std::make_move_iterator(pending_.begin() + static_cast<long>(taken)),
              std::make_move_iterator(pending_.end()));
  pending_ = std::move(rest);
  if (took_all && !pending_.empty()) WantFlush();
  return !blocked();
}

void Connection::Flush() {
  if (state_ != State::kServing) {
    // The rest of a handshake's last flight.
    if (state_ == State::kClosed) return;
    if (socket_.Flush() < 0) return Close();
    return Watch(reading_, socket_.has_unsent());
  }
  if (!FlushPending()) return WatchAsNeeded();
  OutputBatch& batch = per_loop_.output;
  bool more = true;
  for (int i = 0; i < kBatchesPerFlush && more && !blocked(); ++i) {
    session_->Produce(batch);
    more = batch.full();
    if (batch.empty()) break;
    const std::ptrdiff_t written = batch.WriteTo(socket_, &pending_);
    if (written < 0) return Close();
    Add(per_loop_.sent_bytes, static_cast<std::uint64_t>(written));
  }
  if (!blocked()) {
    if (session_->ended()) return Linger();
    if (more) WantFlush();
  }
  WatchAsNeeded();
}

void Connection::CountHeld() {
  if (session_ == nullptr) return;
  std::size_t held = session_->held_bytes() + socket_.unsent_bytes();
  for (const SharedBytes& part : pending_) held += part.size();
  held_.Set(held);
}

void Connection::OnCut(std::size_t held_bytes) {
  KV_WARN("closed a connection that does not take its answers", {"remote-addr", peer_.view()},
          {"bytes", held_bytes});
  Close();
}

void Connection::WatchAsNeeded() {
  if (state_ != State::kServing) return;
  CountHeld();
  const bool is_blocked = blocked();
  if (is_blocked && session_->ending() && !timer_.armed())
    per_loop_.loop.Arm(timer_, per_loop_.loop.now() + kLingerTime);
  Watch(!input_ended_ && !session_->pauses_input(is_blocked), is_blocked);
}

void Connection::Watch(bool reading, bool writing) {
  if (reading == reading_ && writing == writing_) return;
  reading_ = reading;
  writing_ = writing;
  per_loop_.loop.Rewatch(socket_.fd(), *this, reading_, writing_);
}

void Connection::Linger() {
  session_.reset();
  held_.Set(0);
  per_loop_.loop.StayAwake();
  state_ = State::kLingering;
  socket_.CloseWriting();
  per_loop_.loop.Arm(timer_, per_loop_.loop.now() + kLingerTime);
  Watch(/*reading=*/true, /*writing=*/false);
}

void Connection::Drain() {
  if (state_ == State::kServing) return session_->Drain();
  Close();
}

void Connection::CancelAll(const Error& reason) {
  if (state_ != State::kServing) return Close();
  session_->CancelAll(reason);
  // A peer that does not read the last bytes in this time loses them.
  per_loop_.loop.Arm(timer_, per_loop_.loop.now() + kLingerTime);
}

void Connection::OnTimer() {
  if (state_ == State::kShaking) return Reject(TlsFailure::kTimeout, "tls: handshake timed out");
  Close();
}

}  // namespace kvorum::rpc
