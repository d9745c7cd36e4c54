#include "server/services/kv/watch_service.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include "api/watch_codec.h"
#include "base/failpoint/failpoint.h"
#include "rpc/call/grpc_protocol.h"
#include "rpc/io/loop.h"
#include "server/call/access.h"
#include "server/call/api.h"
#include "server/call/method_registrar.h"
#include "server/call/reads.h"
#include "server/services/kv/stream_tail.h"
#include "watch/hub.h"
#include "watch/shard.h"
#include "watch/stream.h"

namespace kvorum::server {
namespace {

// Smaller slices are cheaper to copy, as in the output of a connection.
constexpr std::size_t kShareBytes = 4096;

// The start of a watch of the key "".
constexpr std::string_view kSmallestKey("\0", 1);

// The API's form of an error in the reason of a cancel.
std::string StatusText(const Error& error) {
  return "rpc error: code = " + std::string(CodeName(error.code)) + " desc = " + error.message;
}

// One Watch call: passes the client's requests to its stream of watchers, frames the stream's
// responses, and sends them as fast as the client reads.
//
// Used by the call's loop only. It owns itself through the call, until that is cancelled or over:
// the client may close its side and still get events.
//
// Bounds: events are taken while less than the window (ServiceLimits) waits to be sent (waiting
// slices count as the blocks of shared bytes that they keep in memory); the window may be exceeded
// by one message, and by the events read for the stream in one round. While it is full no request
// is read either, so answers to requests are bounded too.
class WatchSession final : public watch::StreamSink,
                           public std::enable_shared_from_this<WatchSession> {
 public:
  WatchSession(const Reads& reads, std::shared_ptr<rpc::ServerStream> stream);
  void Start(watch::Shard& shard);

  // ---- watch::StreamSink ----
  void Send(const watch::Response& response, const watch::Body* events) override;
  bool HasRoom() const override;
  void Flush() override { SendPending(); }

 private:
  void ReadNext();
  void OnRequest(const Result<std::optional<SharedBytes>>& message);
  void Handle(const SharedBytes& bytes);
  void Fault(const Error& error);
  void FinishIfFaulty();
  void Create(const SharedBytes& bytes, const watch::CreateRequest& request);
  void GoOn();
  void SendPending();
  void HoldUp();
  void SendNow();
  void OnSent(const Result<void>& sent);
  void OnRoom();
  void EndTail();
  void End();

  const Reads& reads_;
  std::shared_ptr<rpc::ServerStream> stream_;  // null at the end
  std::unique_ptr<watch::Stream> watches_;

  // Responses not handed to the call yet: slices, then small bytes after them.
  ByteChain pending_;
  StreamTail tail_;
  std::size_t pending_messages_ = 0;
  std::size_t pending_bytes_ = 0;  // that it keeps in memory, like the next
  std::size_t sending_bytes_ = 0;
  bool sending_ = false;
  bool read_waits_ = false;            // for room
  std::optional<Error> fault_;         // of a request: nothing more is read or watched
  mutable bool stream_waits_ = false;  // the stream of watchers was notified that there is no room
};

WatchSession::WatchSession(const Reads& reads, std::shared_ptr<rpc::ServerStream> stream)
    : reads_(reads), stream_(std::move(stream)) {}

void WatchSession::Start(watch::Shard& shard) {
  watches_ = shard.Open(*this);
  stream_->context().OnCancel([self = shared_from_this()](const Error&) { self->End(); });
  if (stream_ == nullptr) return;  // the client has left already
  ReadNext();
}

void WatchSession::ReadNext() {
  stream_->Read([self = shared_from_this()](Result<std::optional<SharedBytes>> message) {
    self->OnRequest(message);
  });
}

void WatchSession::OnRequest(const Result<std::optional<SharedBytes>>& message) {
  if (stream_ == nullptr) return;
  if (!message.has_value()) {
    if (!stream_->context().cancelled()) Fault(message.error());
    return;
  }
  if (message->has_value()) Handle(**message);
}

// Ends the call once the client has what was answered before.
void WatchSession::Fault(const Error& error) {
  watches_.reset();
  fault_ = error;
  SendPending();
  FinishIfFaulty();
}

void WatchSession::FinishIfFaulty() {
  if (!fault_.has_value() || sending_) return;
  stream_->Finish(*fault_);
  End();
}

void WatchSession::GoOn() {
  if (stream_ == nullptr) return;
  if (HasRoom()) return ReadNext();
  read_waits_ = true;
}

void WatchSession::Handle(const SharedBytes& bytes) {
  const auto request = DecodeWatchRequest(bytes.view());
  if (!request.has_value()) return Fault(rpc::OnStream(request.error()));
  if (const auto* create = std::get_if<watch::CreateRequest>(&*request)) {
    return Create(bytes, *create);
  } else if (const auto* cancel = std::get_if<WatchCancelRequest>(&*request)) {
    watches_->Cancel(cancel->watch_id);
  } else if (std::holds_alternative<WatchProgressRequest>(*request)) {
    watches_->RequestProgress();
  }
  GoOn();
}

// A caller that may not read the range, or whose token has expired, is refused this watcher
// and keeps the others. An impossible revision is reported first, to anybody.
void WatchSession::Create(const SharedBytes& bytes, const watch::CreateRequest& request) {
  const Access& access = reads_.access;
  const auto create = [this](const watch::CreateRequest& admitted) {
    watches_->Create(admitted);
    GoOn();
  };
  if (access.is_off() || request.start_revision < 0) return create(request);
  // `bytes` holds the bytes that the request refers to.
  Access::Check check = [request, bytes](const Asker& asker) {
    const std::string_view key = request.key.empty() ? kSmallestKey : request.key;
    return asker.state.CheckRead(asker.identity, key, request.range_end);
  };
  if (access.Admit(stream_->context(), check).has_value()) return create(request);
  access.AdmitUpToDate({stream_, &stream_->context()}, std::move(check),
                       [self = shared_from_this(), bytes, request, create](Result<void> admitted) {
                         if (self->stream_ == nullptr) return;
                         if (admitted.has_value()) return create(request);
                         self->watches_->Refuse(StatusText(admitted.error()));
                         self->GoOn();
                       });
}

void WatchSession::Send(const watch::Response& response, const watch::Body* events) {
  std::string& tail = tail_.Open();
  const std::size_t prefix_at = tail.size();
  tail.append(rpc::kMessagePrefixBytes, '\0');
  AppendWatchResponse(tail, reads_.cluster.Header(response.revision), response);
  std::size_t size = tail.size() - prefix_at - rpc::kMessagePrefixBytes;
  if (events != nullptr) size += events->size_bytes;
  tail.replace(prefix_at, rpc::kMessagePrefixBytes, rpc::View(rpc::PrefixOf(size)));
  pending_bytes_ += tail.size() - prefix_at;
  ++pending_messages_;
  if (events == nullptr) return;
  pending_bytes_ += events->kept_bytes;
  for (const SharedBytes& part : events->parts) {
    if (part.size() < kShareBytes) {
      tail_.Open().append(part.view());
    } else {
      EndTail();
      pending_.push_back(part);
    }
  }
}

void WatchSession::EndTail() {
  if (tail_.empty()) return;
  StreamTail::Taken taken = tail_.Take();
  pending_bytes_ += taken.kept_bytes - taken.bytes.size();
  pending_.push_back(std::move(taken.bytes));
}

bool WatchSession::HasRoom() const {
  const bool room = pending_bytes_ + sending_bytes_ < reads_.limits.watch_window_bytes;
  if (!room) stream_waits_ = true;
  return room;
}

void WatchSession::SendPending() {
  if (sending_ || pending_messages_ == 0 || stream_ == nullptr) return;
  sending_ = true;
  if (KV_FAILPOINT_ARMED("beforeSendWatchResponse")) return HoldUp();
  SendNow();
}

// A failpoint may sleep, and this is an I/O loop, which has others to serve. More responses may
// come meanwhile, or the end.
void WatchSession::HoldUp() {
  rpc::Loop* const loop = stream_->context().loop();
  reads_.executors.readers->Post([self = shared_from_this(), loop] {
    KV_FAILPOINT("beforeSendWatchResponse");
    Task send = [self] {
      if (self->stream_ != nullptr) self->SendNow();
    };
    if (loop == nullptr) return send();  // in tests, whose executors share a thread
    loop->Post(std::move(send));
  });
}

void WatchSession::SendNow() {
  EndTail();
  sending_bytes_ = std::exchange(pending_bytes_, 0);
  stream_->WriteFrames(
      std::exchange(pending_, {}), std::exchange(pending_messages_, 0),
      [self = shared_from_this()](const Result<void>& sent) { self->OnSent(sent); });
}

void WatchSession::OnSent(const Result<void>& sent) {
  sending_ = false;
  sending_bytes_ = 0;
  if (stream_ == nullptr || !sent.has_value()) return;
  SendPending();
  if (fault_.has_value()) return FinishIfFaulty();
  if (pending_bytes_ + sending_bytes_ < reads_.limits.watch_window_bytes / 2) OnRoom();
}

void WatchSession::OnRoom() {
  if (std::exchange(stream_waits_, false)) watches_->OnRoom();
  if (std::exchange(read_waits_, false)) ReadNext();
}

void WatchSession::End() {
  watches_.reset();
  pending_.clear();
  tail_.Drop();
  pending_messages_ = 0;
  stream_ = nullptr;
}

}  // namespace

void WatchService::Register(MethodRegistrar& methods) {
  methods.AddStream(
      api::kWatch, [this](std::shared_ptr<rpc::ServerStream> stream) { Watch(std::move(stream)); });
}

void WatchService::Watch(std::shared_ptr<rpc::ServerStream> stream) {
  const rpc::Loop* loop = stream->context().loop();
  watch::Shard& shard = hub_.shard(loop == nullptr ? 0 : loop->index());
  std::make_shared<WatchSession>(reads_, std::move(stream))->Start(shard);
}

}  // namespace kvorum::server
