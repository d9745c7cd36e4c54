#include "server/replica/snapshots/database_sender.h"

#include <algorithm>
#include <string>
#include <utility>

#include "api/entries/conf_state_json.h"
#include "api/entries/v2_membership.h"
#include "api/member_id.h"
#include "api/storage_version.h"
#include "base/log/logging.h"
#include "server/peer/codec/transport.h"
#include "server/replica/drive/bounded_source.h"
#include "server/state/replicated_state.h"

namespace kvorum::server {
namespace {

Result<raft::SnapshotMetadata> MetadataOf(const mvcc::Store::Recovered& content,
                                          raft::Index at_least) {
  if (raft::Index{content.consistent_index} < at_least) {
    return Fail(Code::kUnknown, "the database is at index " +
                                    std::to_string(content.consistent_index) +
                                    ", the follower needs " + std::to_string(at_least.value()));
  }
  KV_TRY(raft::ConfState conf_state, DecodeConfStateJson(content.conf_state));
  return raft::SnapshotMetadata{.conf_state = std::move(conf_state),
                                .index = raft::Index{content.consistent_index},
                                .term = raft::Term{content.term}};
}

}  // namespace

DatabaseSender::DatabaseSender(mvcc::Store& store, std::shared_ptr<DiskSpace> disk_space,
                               const Clock& clock, std::uint64_t limit_bytes_per_second,
                               Report report)
    : store_(store),
      disk_space_(std::move(disk_space)),
      clock_(clock),
      limit_bytes_per_second_(limit_bytes_per_second),
      report_(std::move(report)) {}

DatabaseSender::Begun DatabaseSender::Begin(raft::MemberId peer) {
  std::lock_guard lock(mutex_);
  if (sending_.contains(peer)) return Begun::kSendsAlready;
  const TimePoint now = clock_.Now();
  const auto failed = failed_.find(peer);
  if (failed != failed_.end() && now < failed->second.until) return Begun::kNotNow;
  if (sending_.size() >= kMaxOnTheirWay) return Begun::kNotNow;
  sending_.emplace(peer, now);
  return Begun::kYes;
}

void DatabaseSender::Send(raft::Message message) {
  switch (Begin(message.to)) {
    case Begun::kYes:
      break;
    case Begun::kSendsAlready:
      return;
    case Begun::kNotNow:
      return report_(message.to, false);  // Raft asks again
  }
  store_.Flush([this, message = std::move(message)]() mutable { SendDurable(std::move(message)); });
}

void DatabaseSender::Ended(raft::MemberId peer, bool succeeded) {
  {
    std::lock_guard lock(mutex_);
    const TimePoint now = clock_.Now();
    if (const auto sent = sending_.find(peer); sent != sending_.end()) {
      store_.SnapshotTook(now - sent->second);
      sending_.erase(sent);
    }
    if (succeeded) {
      failed_.erase(peer);
    } else {
      Failed& failed = failed_[peer];
      failed.pause = std::clamp(2 * failed.pause, kFirstPause, kLongestPause);
      failed.until = now + failed.pause;
    }
  }
  report_(peer, succeeded);
}

void DatabaseSender::SendDurable(raft::Message message) {
  MembershipView members;
  auto opened = store_.OpenSnapshot([&](mvcc::Snapshot& content) -> Result<mvcc::EtcdImageOptions> {
    KV_TRY(members, LoadMembership(content));
    return mvcc::EtcdImageOptions{.storage_version = ImageStorageVersion(members.cluster_version)};
  });
  Result<raft::SnapshotMetadata> metadata =
      opened.has_value() ? MetadataOf(opened->content, message.snapshot->metadata.index)
                         : Fail(opened.error());
  if (!metadata.has_value()) {
    KV_WARN("cannot send a snapshot", {"to", IdText(message.to)},
            {"error", metadata.error().message});
    Ended(message.to, false);
    return;
  }
  KV_INFO("sending database snapshot", {"snapshot-index", metadata->index},
          {"snapshot-term", metadata->term}, {"remote-peer-id", IdText(message.to)},
          {"size-in-use-bytes", store_.SizeInUseBytes()});
  message.snapshot = std::make_shared<const raft::Snapshot>(raft::Snapshot{
      .data = SharedBytes::Own(EncodeV2Membership(members)), .metadata = *std::move(metadata)});
  transport_->SendSnapshot(std::move(message), Bounded(*std::move(opened)));
}

// Refers to nothing of this sender: its user may outlive us.
std::unique_ptr<mvcc::SnapshotSource> DatabaseSender::Bounded(
    mvcc::Store::DurableSnapshot opened) const {
  return std::make_unique<BoundedSource>(
      std::move(opened.source),
      BoundedSource::Database{
          .file_bytes = std::move(opened.file_bytes),
          .has_space = [space = disk_space_] { return space->TakesBackendBytes(0); },
          .in_use_bytes = store_.SizeInUseBytes()},
      clock_, BoundedSource::Limits().HeldTo(limit_bytes_per_second_));
}

}  // namespace kvorum::server
