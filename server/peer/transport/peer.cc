#include "server/peer/transport/peer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "api/member_id.h"
#include "base/check.h"
#include "base/log/logging.h"

namespace kvorum::server {
namespace {

constexpr std::array kKinds = {StreamKind::kMessage, StreamKind::kAppend};
// Forwarded proposals are split into messages of about this size: a follower forwards everything
// that its clients propose in one wake-up.
constexpr std::size_t kMaxProposalsBytes = std::size_t{1} << 20;

}  // namespace

Peer::Peer(PeerLinks& links, raft::MemberId id, std::vector<Url> urls, Hooks hooks)
    : links_(links),
      id_(id),
      hooks_(std::move(hooks)),
      urls_(std::move(urls)),
      pipeline_(links, id, urls_,
                {.on_lost = [this] { Lost(0); },
                 .on_written = [this] { is_losing_ = false; },
                 .is_member = [this] { return is_member_; }}),
      requests_(links, urls_, links.metrics[id].waiting_requests) {
  for (const StreamKind kind : kKinds) {
    writers_[static_cast<std::size_t>(kind)] = std::make_unique<StreamWriter>(
        links, id, kind,
        StreamWriter::Hooks{.on_lost = [this] { Lost(0); },
                            .on_written = [this] { is_losing_ = false; }});
  }
}

Peer::~Peer() {
  if (snapshot_ == nullptr) return;
  links_.metrics[id_].sent.running.fetch_sub(1);
  links_.receiver->SnapshotSent(id_, false);
}

void Peer::BecomeMember() {
  is_member_ = true;
  for (const StreamKind kind : kKinds) {
    readers_[static_cast<std::size_t>(kind)] = std::make_unique<StreamReader>(
        links_, id_, kind, urls_,
        StreamReader::Hooks{.on_messages = hooks_.on_messages,
                            .on_state = [this](bool stands) { OnState(stands); }});
  }
  prober_ = std::make_unique<Prober>(links_, id_, urls_, hooks_.on_round_trip);
}

void Peer::SetUrls(std::vector<Url> urls) {
  if (!urls_.Are(urls)) urls_.Replace(std::move(urls));
}

void Peer::Push(raft::Message message) {
  if (message.type != raft::MessageType::kProp || message.entries.size() < 2)
    return PushWhole(std::move(message));
  std::vector<raft::Entry> entries = std::exchange(message.entries, {});
  std::size_t size_bytes = 0;
  for (raft::Entry& entry : entries) {
    if (size_bytes > 0 && size_bytes + entry.data.size() > kMaxProposalsBytes) {
      PushWhole(message);
      message.entries.clear();
      size_bytes = 0;
    }
    size_bytes += entry.data.size() + sizeof(entry);
    message.entries.push_back(std::move(entry));
  }
  PushWhole(std::move(message));
}

// Appends have a separate stream, so that heartbeats and votes do not wait behind them.
void Peer::PushWhole(raft::Message message) {
  bool taken = false;
  if (raft::EncodedSize(message) > links_.options.max_frame_bytes) {
    KV_ERROR("a message is too large for a peer", {"peer", IdText(id_)},
             {"type", raft::Name(message.type)}, {"entries", message.entries.size()});
  } else if (message.type == raft::MessageType::kApp && writer(StreamKind::kAppend).stands()) {
    taken = writer(StreamKind::kAppend).Push(std::move(message));
  } else if (writer(StreamKind::kMessage).stands()) {
    taken = writer(StreamKind::kMessage).Push(std::move(message));
  } else {
    taken = pipeline_.Push(std::move(message));
  }
  if (!taken) Lost(1);
}

void Peer::Flush() {
  for (const StreamKind kind : kKinds) writer(kind).Flush();
}

void Peer::Attach(StreamKind kind, std::unique_ptr<PeerSocket> socket) {
  writer(kind).Attach(std::move(socket));
  Hurry();
}

void Peer::Hurry() {
  for (auto& reader : readers_) {
    if (reader != nullptr) reader->Hurry();
  }
}

void Peer::SendSnapshot(raft::Message message, std::unique_ptr<mvcc::SnapshotSource> content) {
  if (snapshot_ != nullptr) {
    links_.disk.Post([content = std::move(content)] {});
    return links_.receiver->SnapshotSent(id_, false);
  }
  const raft::Index index = message.snapshot == nullptr ? 0 : message.snapshot->metadata.index;
  PeerMetrics::Snapshots& metrics = links_.metrics[id_].sent;
  metrics.running.fetch_add(1);
  snapshot_ = std::make_unique<SnapshotSender>(
      links_, urls_, std::move(message), std::move(content),
      [this, index, &metrics,
       begun = links_.loop.clock().Now()](const Result<std::uint64_t>& sent) {
        snapshot_.reset();
        const bool succeeded = sent.has_value();
        metrics.running.fetch_sub(1);
        (succeeded ? metrics.succeeded : metrics.failed).Add();
        if (succeeded) metrics.times.Observe(links_.loop.clock().Now() - begun);
        if (succeeded) {
          links_.counters.sent_snapshots.fetch_add(1, std::memory_order_relaxed);
          KV_INFO("sent database snapshot", {"snapshot-index", index},
                  {"remote-peer-id", IdText(id_)}, {"bytes", *sent});
        } else {
          links_.counters.failed_snapshots.fetch_add(1, std::memory_order_relaxed);
          KV_WARN("failed to send database snapshot", {"snapshot-index", index},
                  {"remote-peer-id", IdText(id_)}, {"error", sent.error().message});
        }
        links_.receiver->SnapshotSent(id_, succeeded);
      });
}

void Peer::OnState(bool stands) {
  const int before = standing_readers_;
  standing_readers_ += stands ? 1 : -1;
  if ((before == 0) == (standing_readers_ == 0)) return;
  PeerMetrics::Of& metrics = links_.metrics[id_];
  metrics.is_active = standing_readers_ > 0;
  if (standing_readers_ > 0) {
    metrics.was_active = true;
    KV_INFO("peer became active", {"peer-id", IdText(id_)});
  } else {
    metrics.disconnections.Add();
    KV_WARN("peer became inactive", {"peer-id", IdText(id_)});
  }
  hooks_.on_activity(standing_readers_ > 0);
}

void Peer::Lost(std::uint64_t messages) {
  links_.counters.dropped_messages.fetch_add(messages, std::memory_order_relaxed);
  links_.metrics[id_].send_failures.Add();
  if (!std::exchange(is_losing_, true)) links_.receiver->Unreachable(id_);
}

std::size_t Peer::standing_writers() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(writers_, [](const auto& writer) { return writer->stands(); }));
}

std::size_t Peer::standing_readers() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      readers_, [](const auto& reader) { return reader != nullptr && reader->stands(); }));
}

void Peer::CheckInvariants() const {
  for (const auto& writer : writers_) writer->CheckInvariants();
  pipeline_.CheckInvariants();
  for (const auto& reader : readers_)
    KV_CHECK((reader != nullptr) == is_member_, "a stranger is dialled, or a member is not");
  KV_CHECK((prober_ != nullptr) == is_member_, "a stranger is probed, or a member is not");
  KV_CHECK(std::cmp_equal(standing_readers(), standing_readers_),
           "another number of streams is counted than is open");
}

}  // namespace kvorum::server
