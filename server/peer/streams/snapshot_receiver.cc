#include "server/peer/streams/snapshot_receiver.h"

#include <algorithm>
#include <utility>

#include "api/member_id.h"
#include "base/log/logging.h"
#include "server/peer/codec/stream_codec.h"
#include "server/peer/io/request_checks.h"

namespace kvorum::server {
namespace {

// The place in the log, and from etcd's members the membership once more: room for thousands that
// have left.
constexpr std::size_t kMaxMessageBytes = std::size_t{4} << 20;
// The bytes read of a message that is refused anyway.
constexpr std::size_t kMaxRefusedBytes = std::size_t{64} << 10;

rpc::HttpResponse AnswerOf(const Error& error) {
  if (error.code == Code::kInvalidArgument) return HttpError(400, error.message);
  if (error.code == Code::kUnavailable) return HttpError(503, error.message);
  return HttpError(500, "failed to save KV snapshot (" + error.message + ")");
}

}  // namespace

Result<std::optional<std::size_t>> SnapshotMessageBytes(std::string_view body) {
  if (body.size() < kLengthBytes) return std::nullopt;
  const std::uint64_t length = ReadBig64(body);
  if (length > kMaxMessageBytes) return Fail(Code::kDataLoss, "rafthttp: error limit exceeded");
  const std::size_t whole = kLengthBytes + static_cast<std::size_t>(length);
  if (body.size() < whole) return std::nullopt;
  return whole;
}

Result<raft::Message> DecodeSnapshotMessage(std::string_view front) {
  KV_TRY(raft::Message message, raft::DecodeMessage(SharedBytes::Copy(front.substr(kLengthBytes))));
  if (message.type != raft::MessageType::kSnap)
    return Fail(Code::kInvalidArgument, "wrong raft message type");
  if (message.snapshot == nullptr || message.snapshot->empty())
    return Fail(Code::kInvalidArgument, "no snapshot");
  // The membership is in the content, too.
  message.snapshot = std::make_shared<const raft::Snapshot>(
      raft::Snapshot{.data = {}, .metadata = message.snapshot->metadata});
  return message;
}

// State of the disk executor.
struct SnapshotReceiver::Incoming {
  raft::Message message;
  TransportReceiver* receiver = nullptr;
  std::unique_ptr<mvcc::SnapshotSink> sink;
  std::atomic<bool> is_whole{false};  // read by the loop too

  Result<void> Take(std::string_view bytes) {
    if (sink == nullptr) {
      KV_TRY(sink, receiver->ReceiveSnapshot(std::move(message)));
    }
    return bytes.empty() ? Result<void>() : sink->Write(bytes);
  }
  // True when nothing is left.
  Result<bool> FinishPart() {
    KV_TRY(is_whole, sink->FinishPart());
    return is_whole.load();
  }
};

// One piece of the body on its way to the sink, then to the answer.
struct SnapshotReceiver::Taking {
  std::shared_ptr<Incoming> incoming;
  Executor& disk;
  PeerLoop& loop;
  raft::MemberId sender;
  bool last = false;
  Next next;

  // All on the disk executor. Other transfers use it between the parts of a finish.
  static void Begin(Taking taking, std::string_view bytes) {
    const Result<void> taken = taking.incoming->Take(bytes);
    if (!taken.has_value()) return Refuse(std::move(taking), taken.error());
    if (taking.last) return Finish(std::move(taking));
    Answer(std::move(taking), std::nullopt);
  }
  static void Finish(Taking taking) {
    const Result<bool> done = taking.incoming->FinishPart();
    if (!done.has_value()) return Refuse(std::move(taking), done.error());
    if (*done) {
      return Answer(
          std::move(taking),
          rpc::HttpResponse{.status = 204, .content_type = {}, .headers = {}, .body = {}});
    }
    Executor& disk = taking.disk;
    disk.Post([taking = std::move(taking)]() mutable { Finish(std::move(taking)); });
  }
  static void Refuse(Taking taking, const Error& error) {
    taking.incoming->sink.reset();
    KV_WARN("a snapshot was not taken", {"peer", IdText(taking.sender)}, {"error", error.message});
    Answer(std::move(taking), AnswerOf(error));
  }
  static void Answer(Taking taking, std::optional<rpc::HttpResponse> answer) {
    taking.loop.Post([next = std::move(taking.next), answer = std::move(answer)]() mutable {
      next(std::move(answer));
    });
  }
};

SnapshotReceiver::SnapshotReceiver(PeerLinks& links, raft::MemberId sender,
                                   std::optional<rpc::HttpResponse> refusal)
    : links_(links), sender_(sender), refusal_(std::move(refusal)) {}

SnapshotReceiver::~SnapshotReceiver() {
  // After its present work.
  if (incoming_ == nullptr) return;
  PeerMetrics::Snapshots& metrics = links_.metrics[sender_].received;
  metrics.running.fetch_sub(1);
  (incoming_->is_whole ? metrics.succeeded : metrics.failed).Add();
  if (incoming_->is_whole) metrics.times.Observe(links_.loop.clock().Now() - begun_);
  links_.disk.Post([incoming = std::move(incoming_)] {});
}

std::size_t SnapshotReceiver::held_bytes() const {
  // The rest of one that is refused anyway is not read.
  if (head_.size() < kLengthBytes || refusal_.has_value()) return head_.size();
  const std::uint64_t announced = ReadBig64(head_);
  return std::max(head_.size(), kLengthBytes + static_cast<std::size_t>(std::min<std::uint64_t>(
                                                   announced, kMaxMessageBytes)));
}

std::optional<rpc::HttpResponse> SnapshotReceiver::TakeMessage(std::string& bytes) {
  head_.append(bytes);
  bytes.clear();
  const auto size = SnapshotMessageBytes(head_);
  const auto undecodable = [](const Error& error) {
    return HttpError(400, "failed to decode raft message (" + error.message + ")");
  };
  if (!size.has_value()) return undecodable(size.error());
  if (!size->has_value()) {
    if (head_.size() > kMaxRefusedBytes) return refusal_;
    return std::nullopt;
  }
  auto message = DecodeSnapshotMessage(std::string_view(head_).substr(0, **size));
  if (!message.has_value()) {
    return message.error().code == Code::kInvalidArgument ? HttpError(400, message.error().message)
                                                          : undecodable(message.error());
  }
  if (refusal_.has_value()) return refusal_;
  if (message->to != links_.identity.member_id)
    return HttpError(403, "cannot process message to mismatch member");
  if (message->from != sender_) return HttpError(403, "cannot process message of another sender");
  KV_INFO("receiving a snapshot", {"peer", IdText(sender_)},
          {"index", message->snapshot->metadata.index}, {"term", message->snapshot->metadata.term});
  bytes = head_.substr(**size);
  head_.clear();
  incoming_ = std::make_shared<Incoming>();
  incoming_->message = *std::move(message);
  incoming_->receiver = links_.receiver;
  begun_ = links_.loop.clock().Now();
  links_.metrics[sender_].received.running.fetch_add(1);
  return std::nullopt;
}

void SnapshotReceiver::Take(std::string bytes, bool last, Next next) {
  if (incoming_ == nullptr) {
    auto refusal = TakeMessage(bytes);
    if (!refusal.has_value() && incoming_ == nullptr && last)
      refusal = HttpError(400, "failed to decode raft message (unexpected EOF)");
    if (refusal.has_value()) {
      links_.counters.refused_messages.fetch_add(1, std::memory_order_relaxed);
      return next(std::move(refusal));
    }
    if (incoming_ == nullptr) return next(std::nullopt);
  }
  links_.disk.Post(
      [taking = Taking{.incoming = incoming_,
                       .disk = links_.disk,
                       .loop = links_.loop,
                       .sender = sender_,
                       .last = last,
                       .next = std::move(next)},
       bytes = std::move(bytes)]() mutable { Taking::Begin(std::move(taking), bytes); });
}

}  // namespace kvorum::server
