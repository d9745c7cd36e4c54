#include "server/peer/streams/stream_writer.h"

#include <array>
#include <utility>

#include "api/member_id.h"
#include "base/check.h"
#include "base/log/logging.h"

namespace kvorum::server {
namespace {

// The bytes encoded for one write; the rest goes with the next one.
constexpr std::size_t kMaxWriteBytes = std::size_t{1} << 20;

std::size_t SizeOf(const raft::Message& message) {
  std::size_t size_bytes = sizeof(message);
  for (const raft::Entry& entry : message.entries) size_bytes += sizeof(entry) + entry.data.size();
  return size_bytes;
}

}  // namespace

struct StreamWriter::Connection {
  explicit Connection(StreamWriter* writer) : owner(writer) {}

  StreamWriter* owner;  // null once it is closed
  std::unique_ptr<PeerSocket> socket;
  std::unique_ptr<StreamEncoder> encoder;
  std::array<char, 256> input{};  // nothing should come
  bool is_writing = false;
};

StreamWriter::StreamWriter(PeerLinks& links, raft::MemberId peer, StreamKind kind, Hooks hooks)
    : links_(links),
      peer_(peer),
      kind_(kind),
      hooks_(std::move(hooks)),
      heartbeat_(links.loop),
      queued_(kind == StreamKind::kAppend ? links.metrics[peer].append_stream
                                          : links.metrics[peer].message_stream) {}

StreamWriter::~StreamWriter() { Close(); }

void StreamWriter::Attach(std::unique_ptr<PeerSocket> socket) {
  if (stands()) {
    KV_INFO("a peer opened a stream anew", {"peer", IdText(peer_)}, {"stream", PathName(kind_)});
    Close();
  } else {
    KV_INFO("a peer opened a stream", {"peer", IdText(peer_)}, {"stream", PathName(kind_)});
  }
  connection_ = std::make_shared<Connection>(this);
  connection_->socket = std::move(socket);
  connection_->encoder = StreamEncoder::Create(kind_);
  links_.counters.open_streams.fetch_add(1, std::memory_order_relaxed);
  WatchForEnd();
  ArmHeartbeat();
}

void StreamWriter::WatchForEnd() {
  connection_->socket->Read(
      connection_->input, [connection = connection_](const Result<std::size_t>& bytes) {
        if (connection->owner == nullptr) return;
        connection->owner->Broken(bytes.has_value()
                                      ? Error{Code::kInvalidArgument, "the reader sent something"}
                                      : bytes.error());
      });
}

bool StreamWriter::Push(raft::Message message) {
  const std::size_t size_bytes = SizeOf(message);
  const bool has_room =
      queue_.size() < links_.options.max_queued_messages &&
      (queue_.empty() || queued_bytes_ + size_bytes <= links_.options.max_queued_bytes);
  if (!has_room) return false;
  queued_bytes_ += size_bytes;
  queue_.push_back(std::move(message));
  ShowQueue();
  return true;
}

void StreamWriter::Flush() {
  if (!stands() || connection_->is_writing || queue_.empty()) return;
  ChainWriter out;
  std::uint64_t count = 0;
  while (!queue_.empty() && out.size_bytes() < kMaxWriteBytes) {
    connection_->encoder->Encode(queue_.front(), out);
    queued_bytes_ -= SizeOf(queue_.front());
    queue_.pop_front();
    ++count;
  }
  ShowQueue();
  links_.counters.sent_messages.fetch_add(count, std::memory_order_relaxed);
  Write(out.Take());
}

void StreamWriter::Write(ByteChain chain) {
  connection_->is_writing = true;
  was_idle_ = false;
  connection_->socket->Write(std::move(chain),
                             [connection = connection_](const Result<std::size_t>& written) {
                               if (connection->owner != nullptr)
                                 connection->owner->OnWritten(written);
                             });
}

void StreamWriter::OnWritten(const Result<std::size_t>& written) {
  if (!written.has_value()) return Broken(written.error());
  links_.counters.sent_bytes.fetch_add(*written, std::memory_order_relaxed);
  links_.metrics[peer_].sent_bytes.Add(*written);
  connection_->is_writing = false;
  hooks_.on_written();
  Flush();
}

void StreamWriter::ArmHeartbeat() {
  heartbeat_.Arm(links_.options.link_heartbeat(), [this] {
    if (!stands()) return;
    if (std::exchange(was_idle_, true) && !connection_->is_writing) {
      ChainWriter out;
      connection_->encoder->EncodeLinkHeartbeat(out);
      Write(out.Take());
      was_idle_ = true;
    }
    ArmHeartbeat();
  });
}

void StreamWriter::Broken(const Error& error) {
  KV_WARN("lost TCP streaming connection with remote peer", {"peer", IdText(peer_)},
          {"stream", PathName(kind_)}, {"error", error.message});
  Close();
  hooks_.on_lost();
}

void StreamWriter::Close() {
  heartbeat_.Disarm();
  if (connection_ != nullptr) {
    connection_->owner = nullptr;
    connection_->socket->Close();
    connection_.reset();
    links_.counters.open_streams.fetch_sub(1, std::memory_order_relaxed);
  }
  DropQueue();
}

void StreamWriter::DropQueue() {
  links_.counters.dropped_messages.fetch_add(queue_.size(), std::memory_order_relaxed);
  queue_.clear();
  queued_bytes_ = 0;
  ShowQueue();
}

void StreamWriter::CheckInvariants() const {
  std::size_t size_bytes = 0;
  for (const raft::Message& message : queue_) size_bytes += SizeOf(message);
  KV_CHECK(size_bytes == queued_bytes_, "a stream's queue has other bytes than are counted");
  KV_CHECK(queue_.size() <= links_.options.max_queued_messages, "more messages queue than may");
  KV_CHECK(queue_.size() <= 1 || queued_bytes_ <= links_.options.max_queued_bytes,
           "more bytes queue than may");
  KV_CHECK(stands() || queue_.empty(), "messages wait for a stream that there is not");
}

}  // namespace kvorum::server
