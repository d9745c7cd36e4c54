#include "rpc/connection.h"

#include <algorithm>
#include <span>
#include <utility>

#include "rpc/http1_session.h"
#include "rpc/http2_session.h"

namespace kvorum::rpc {
namespace {

// RFC 7540, section 3.5: what an HTTP/2 client says first. No HTTP/1 method begins with "PRI ".
constexpr std::string_view kHttp2Start = "PRI ";
// Full batches that one connection writes before others have their turn.
constexpr int kBatchesPerFlush = 4;
// A peer that does not close is given this long, and this much, to take the last bytes: closing
// earlier would reset the connection and could destroy them on their way.
constexpr Duration kLingerTime = std::chrono::seconds(2);
constexpr std::size_t kLingerBytes = 1024 * 1024;

void Add(std::atomic<std::uint64_t>& counter, std::uint64_t amount) {
  // One writer: no need for a locked addition.
  counter.store(counter.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
}

}  // namespace

Connection::Connection(Front& front, Socket socket, SharedBytes peer,
                       std::move_only_function<void(Connection*)> on_closed)
    : front_(front),
      socket_(std::move(socket)),
      peer_(std::move(peer)),
      on_closed_(std::move(on_closed)) {
  front_.loop.Watch(socket_.fd(), *this, reading_, writing_);
  front_.loop.Arm(timer_, front_.loop.now() + front_.options.handshake_timeout);
}

Connection::~Connection() { Close(); }

void Connection::Close() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  front_.loop.Disarm(timer_);
  front_.loop.DropFlush(*this);
  front_.loop.Unwatch(socket_.fd(), *this);
  socket_.Close();
  session_.reset();  // cancels its calls
  front_.loop.DropFlush(*this);
  front_.loop.StayAwake();
  on_closed_(this);
}

void Connection::OnReady(bool readable, bool writable) {
  if (writable) WantFlush();
  if (readable) OnReadable();
}

void Connection::OnReadable() {
  const std::ptrdiff_t count = socket_.Read(front_.input);
  if (count == Socket::kWouldBlock) return;
  if (count < 0) return Close();
  if (count == 0) {
    // The second end is the connection's: the poll tells of it even if nobody asked.
    if (state_ != State::kServing || input_ended_) return Close();
    input_ended_ = true;
    session_->OnInputEnd();
    return WatchAsNeeded();
  }
  Add(front_.received_bytes, static_cast<std::uint64_t>(count));
  OnBytes({front_.input.data(), static_cast<std::size_t>(count)});
}

void Connection::OnBytes(std::string_view bytes) {
  switch (state_) {
    case State::kSniffing:
      sniffed_.append(bytes);
      if (StartSession()) session_->OnInput(std::exchange(sniffed_, {}));
      break;
    case State::kServing:
      session_->OnInput(bytes);
      break;
    case State::kLingering:
      lingered_bytes_ += bytes.size();
      if (lingered_bytes_ > kLingerBytes) Close();
      break;
    case State::kClosed:
      break;
  }
}

bool Connection::StartSession() {
  const std::size_t compared = std::min(sniffed_.size(), kHttp2Start.size());
  const bool is_http2 = sniffed_.compare(0, compared, kHttp2Start.substr(0, compared)) == 0;
  if (is_http2 && compared < kHttp2Start.size()) return false;  // it may still be "PROPFIND"
  if (is_http2) {
    session_ = std::make_unique<Http2Session>(front_, *this, peer_);
  } else {
    session_ = std::make_unique<Http1Session>(front_, *this, peer_);
  }
  state_ = State::kServing;
  return true;
}

void Connection::OnEstablished() {
  if (state_ == State::kServing) front_.loop.Disarm(timer_);
}

bool Connection::FlushPending() {
  if (pending_.empty()) return true;
  OutputBatch& batch = front_.output;
  std::size_t taken = 0;
  while (taken < pending_.size() && !batch.full()) batch.Append(pending_[taken++]);
  std::vector<SharedBytes> rest;
  const std::ptrdiff_t written = batch.WriteTo(socket_, &rest);
  if (written < 0) {
    Close();
    return false;
  }
  Add(front_.sent_bytes, static_cast<std::uint64_t>(written));
  const bool blocked = !rest.empty();
  rest.insert(rest.end(), std::make_move_iterator(pending_.begin() + static_cast<long>(taken)),
              std::make_move_iterator(pending_.end()));
  pending_ = std::move(rest);
  if (!blocked && !pending_.empty()) WantFlush();
  return pending_.empty();
}

void Connection::Flush() {
  if (state_ != State::kServing) return;
  if (!FlushPending()) return WatchAsNeeded();
  OutputBatch& batch = front_.output;
  bool more = true;
  for (int i = 0; i < kBatchesPerFlush && more && pending_.empty(); ++i) {
    session_->Produce(batch);
    more = batch.full();
    if (batch.empty()) break;
    const std::ptrdiff_t written = batch.WriteTo(socket_, &pending_);
    if (written < 0) return Close();
    Add(front_.sent_bytes, static_cast<std::uint64_t>(written));
  }
  if (pending_.empty()) {
    if (session_->ended()) return Linger();
    if (more) WantFlush();
  }
  WatchAsNeeded();
}

void Connection::WatchAsNeeded() {
  if (state_ != State::kServing) return;
  const bool blocked = !pending_.empty();
  const bool reading = !input_ended_ && !session_->pauses_input(blocked);
  if (blocked && session_->ending() && !timer_.armed())
    front_.loop.Arm(timer_, front_.loop.now() + kLingerTime);
  if (reading == reading_ && blocked == writing_) return;
  reading_ = reading;
  writing_ = blocked;
  front_.loop.Rewatch(socket_.fd(), *this, reading_, writing_);
}

void Connection::Linger() {
  session_.reset();
  front_.loop.StayAwake();
  state_ = State::kLingering;
  socket_.CloseWriting();
  front_.loop.Arm(timer_, front_.loop.now() + kLingerTime);
  reading_ = true;
  writing_ = false;
  front_.loop.Rewatch(socket_.fd(), *this, reading_, writing_);
}

void Connection::Drain() {
  if (state_ == State::kServing) return session_->Drain();
  Close();
}

void Connection::CancelAll(const Error& reason) {
  if (state_ != State::kServing) return Close();
  session_->CancelAll(reason);
  // Who does not take the last bytes in this time loses them.
  front_.loop.Arm(timer_, front_.loop.now() + kLingerTime);
}

void Connection::OnTimer() { Close(); }

}  // namespace kvorum::rpc
