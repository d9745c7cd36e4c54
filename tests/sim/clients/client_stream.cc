#include "tests/sim/clients/client_stream.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "rpc/call/grpc_protocol.h"
#include "tests/sim/world/machine.h"

namespace kvorum::sim {
namespace {

std::string FrameOf(std::string_view message) {
  std::string frame(rpc::kMessagePrefixBytes, '\0');
  for (std::size_t i = 0; i < 4; ++i)
    frame[1 + i] = static_cast<char>(message.size() >> (24 - 8 * i));
  return frame.append(message);
}

}  // namespace

ClientStream::ClientStream(World& world, Machine& machine, Receiver receiver)
    : world_(world), machine_(machine), receiver_(std::move(receiver)) {}

Duration ClientStream::OneWay() {
  return world_.scheduler.Between(Duration(50'000), Duration(1'500'000));
}

bool ClientStream::Stands() const { return machine_.up() && machine_.life() == life_; }

void ClientStream::AtClient(std::move_only_function<void()> task) {
  last_arrival_ = std::max(last_arrival_, world_.scheduler.Now() + OneWay());
  world_.scheduler.At(last_arrival_, [self = shared_from_this(), task = std::move(task)]() mutable {
    if (!self->left_ && !self->lost_) task();
  });
}

void ClientStream::PostToServer(void (ClientStream::*task)()) {
  if (!Stands()) return;
  machine_.lane(LaneKind::kIo).Post([self = shared_from_this(), task] { (self.get()->*task)(); });
}

// ---- the client's side ----

void ClientStream::Open(std::string path, bool wants_leader, const std::string& token) {
  path_ = std::move(path);
  if (wants_leader) context_.AddMetadata("hasleader", "true");
  if (!token.empty()) context_.AddMetadata("token", token);
  last_said_ = world_.scheduler.Now() + OneWay();
  world_.scheduler.At(last_said_, [self = shared_from_this()] {
    if (self->left_) return;
    if (!self->machine_.up()) return self->TellEnd({Code::kUnavailable, "connection refused"});
    self->life_ = self->machine_.life();
    self->machine_.services().Adopt(self);
    self->PostToServer(&ClientStream::Serve);
  });
}

void ClientStream::Serve() { machine_.services().Serve(path_, shared_from_this()); }

void ClientStream::Say(std::string message) {
  last_said_ = std::max(last_said_, world_.scheduler.Now() + OneWay());
  world_.scheduler.At(last_said_,
                      [self = shared_from_this(), message = std::move(message)]() mutable {
                        if (self->over_ || !self->Stands()) return;
                        self->inbox_.push_back(std::move(message));
                        if (self->reader_) self->PostToServer(&ClientStream::PassRead);
                      });
}

void ClientStream::SetReading(bool reads) {
  reads_ = reads;
  if (!reads_) return;
  if (!held_.empty()) {
    Deliver(std::exchange(held_, {}));
    PostToServer(&ClientStream::PassWritten);
  }
  if (status_.has_value()) TellEnd(*status_);
}

void ClientStream::Leave() {
  left_ = true;
  world_.scheduler.After(OneWay(), [self = shared_from_this()] {
    if (!self->Stands()) return;
    self->machine_.lane(LaneKind::kIo).Post([self] {
      self->EndServer({Code::kCanceled, "context canceled"});
    });
  });
}

// ---- the process's side ----

void ClientStream::Break() {
  if (!left_ && !status_.has_value()) TellEnd({Code::kUnavailable, "connection reset"});
  // Bytes written may have left the machine before it went down.
  lost_ = world_.scheduler.rng().OneIn(2);
  if (lost_ && !left_) {
    world_.scheduler.After(OneWay(), [self = shared_from_this()] {
      if (!self->left_) self->receiver_.on_end({Code::kUnavailable, "connection reset"});
    });
  }
  over_ = true;
  context_.Cancel({Code::kUnavailable, "the process has ended"});
  DropCallbacks();
}

void ClientStream::DropCallbacks() {
  const auto reader = std::exchange(reader_, nullptr);
  const auto writer = std::exchange(writer_, nullptr);
  held_.clear();
  inbox_.clear();
}

void ClientStream::EndServer(const Error& reason) {
  if (std::exchange(over_, true)) return;
  context_.Cancel(reason);
  if (reader_) std::exchange(reader_, nullptr)(std::unexpected(reason));
  if (writer_) std::exchange(writer_, nullptr)(std::unexpected(reason));
  DropCallbacks();
}

template <class Callback>
void ClientStream::RefuseLate(Callback callback) {
  if (!Stands()) return;
  machine_.lane(LaneKind::kIo).Post([callback = std::move(callback)]() mutable {
    callback(Fail(Code::kCanceled, "context canceled"));
  });
}

void ClientStream::Read(ReadCallback callback) {
  if (status_.has_value()) return RefuseLate(std::move(callback));
  KV_CHECK(!reader_, "one read at a time");
  reader_ = std::move(callback);
  if (over_ || !inbox_.empty()) PostToServer(&ClientStream::PassRead);
}

void ClientStream::PassRead() {
  if (!reader_) return;
  if (over_) return std::exchange(reader_, nullptr)(Fail(Code::kCanceled, "context canceled"));
  if (inbox_.empty()) return;
  SharedBytes message = SharedBytes::Own(std::move(inbox_.front()));
  inbox_.pop_front();
  std::exchange(reader_, nullptr)(std::move(message));
}

void ClientStream::Write(ByteChain message, WriteCallback callback) {
  Take(FrameOf(Join(message)), std::move(callback));
}

void ClientStream::WriteFrames(ByteChain frames, std::size_t messages, WriteCallback callback) {
  std::string joined = Join(frames);
  std::size_t found = 0;
  for (std::size_t at = 0; at < joined.size(); ++found) {
    std::size_t size = 0;
    for (std::size_t i = 1; i < rpc::kMessagePrefixBytes; ++i)
      size = size << 8 | static_cast<unsigned char>(joined.at(at + i));
    at += rpc::kMessagePrefixBytes + size;
  }
  KV_CHECK(found == messages, "frames that are not the messages told");
  Take(std::move(joined), std::move(callback));
}

void ClientStream::Take(std::string frames, WriteCallback callback) {
  if (status_.has_value()) return RefuseLate(std::move(callback));
  KV_CHECK(!writer_, "one write at a time");
  writer_ = std::move(callback);
  if (!reads_ && !over_) {
    world_.faults.Add(Fault::kWatchUnread);
    held_ = std::move(frames);
    return;
  }
  if (!over_) Deliver(std::move(frames));
  PostToServer(&ClientStream::PassWritten);
}

void ClientStream::PassWritten() {
  if (!writer_) return;
  if (over_) return std::exchange(writer_, nullptr)(Fail(Code::kCanceled, "context canceled"));
  std::exchange(writer_, nullptr)({});
}

void ClientStream::Deliver(std::string frames) {
  AtClient([this, frames = std::move(frames)] {
    std::string_view left = frames;
    while (!left.empty() && !left_) {
      std::size_t size = 0;
      for (std::size_t i = 1; i < rpc::kMessagePrefixBytes; ++i)
        size = size << 8 | static_cast<unsigned char>(left[i]);
      const std::string_view message = left.substr(rpc::kMessagePrefixBytes, size);
      left.remove_prefix(rpc::kMessagePrefixBytes + size);
      receiver_.on_message(message);
    }
  });
}

void ClientStream::TellEnd(Error status) {
  AtClient([this, status = std::move(status)] { receiver_.on_end(status); });
}

void ClientStream::Finish(Error status) {
  if (over_) return;
  over_ = true;
  status_ = std::move(status);
  context_.Done();
  if (reader_) PostToServer(&ClientStream::PassRead);
  if (writer_ && held_.empty()) PostToServer(&ClientStream::PassWritten);
  if (reads_) TellEnd(*status_);
}

void ClientStream::Cut(Error reason) {
  if (over_) return;
  status_ = reason;
  if (reads_) TellEnd(reason);
  EndServer(reason);
}

}  // namespace kvorum::sim
