#include "server/replica/drive/log_snapshots.h"

#include <algorithm>
#include <iterator>

#include "raft/node.h"

namespace kvorum::server {

LogSnapshots::LogSnapshots(raft::Node& node, raft::Index last, Limits limits)
    : node_(node), limits_(limits), last_(last), catch_up_(limits.catch_up) {
  confs_.emplace_back(last, node.conf_state());
}

void LogSnapshots::ConfChanged(raft::Index index, raft::ConfState conf) {
  confs_.emplace_back(index, std::move(conf));
}

void LogSnapshots::Installed(const raft::SnapshotMetadata& metadata) {
  confs_.assign(1, {metadata.index, metadata.conf_state});
  last_ = std::max(last_, metadata.index);
  kept_size_bytes_ = 0;
}

void LogSnapshots::Durable(raft::Index index) { durable_ = std::max(durable_, index); }

// If the entries in memory begin after the last snapshot, the start has left out older ones for
// their size.
bool LogSnapshots::IsDue() const {
  if (durable_ <= last_) return false;
  const raft::Log& log = node_.log();
  return durable_ >= last_ + limits_.entries ||
         log.size_bytes() > kept_size_bytes_ + limits_.size_bytes || log.snapshot_index() > last_;
}

std::optional<raft::SnapshotMetadata> LogSnapshots::Begin() {
  if (is_running_ || !IsDue()) return std::nullopt;
  const auto term = node_.log().TermAt(durable_);
  if (!term.has_value()) return std::nullopt;
  const auto newer =
      std::ranges::find_if(confs_, [&](const auto& conf) { return conf.first > durable_; });
  confs_.erase(confs_.begin(), std::prev(newer));
  is_running_ = true;
  last_ = durable_;
  return raft::SnapshotMetadata{.conf_state = confs_.front().second, .index = last_, .term = *term};
}

void LogSnapshots::Ended(raft::Index index) {
  if (index != 0) {
    compact_ = index;
    Compact();
  }
  is_running_ = false;
  kept_size_bytes_ = node_.log().size_bytes();
}

void LogSnapshots::SendBegun(raft::MemberId to, raft::Index index) {
  catch_up_.Begun(to, index);
  node_.KeepStored(catch_up_.Needed());
}

void LogSnapshots::Tick(TimePoint now, std::uint64_t written_bytes, bool has_space) {
  catch_up_.Update(node_, now, written_bytes, has_space);
  node_.KeepStored(catch_up_.Needed());
  if (compact_ != 0) Compact();
}

raft::Index LogSnapshots::ReleaseBound(raft::Index index) const {
  const raft::Index needed = catch_up_.Needed();
  return needed == 0 ? index : std::min(index, needed);
}

void LogSnapshots::Compact() {
  const raft::Index index = catch_up_.Bound(compact_, node_.log().size_bytes());
  node_.Compact(index);
  if (index == compact_) compact_ = 0;  // otherwise again with the next tick
}

}  // namespace kvorum::server
