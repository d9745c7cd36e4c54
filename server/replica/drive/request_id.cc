#include "server/replica/drive/request_id.h"

#include "api/entries/internal_request.h"

namespace kvorum::server {
namespace {

// More ids than a process uses between two of its entries in the log.
constexpr std::uint64_t kUnseenIds = std::uint64_t{1} << 32;

}  // namespace

std::optional<std::uint64_t> RequestIdOf(const raft::Entry& entry) {
  switch (entry.type) {
    case raft::EntryType::kNormal: {
      const auto request = DecodeInternalRequest(entry.data.view());
      if (!request.has_value()) return std::nullopt;
      return request->id;
    }
    case raft::EntryType::kConfChange: {
      const auto change = raft::DecodeConfChange(entry.data);
      if (!change.has_value()) return std::nullopt;
      return change->id;
    }
    case raft::EntryType::kConfChangeV2:
      break;
  }
  return std::nullopt;
}

void RequestIdSource::GoOnBehind(std::span<const raft::Entry> entries) {
  const std::uint64_t by_time = suffix_.load(std::memory_order_relaxed);
  std::uint64_t next = by_time;
  for (const raft::Entry& entry : entries) {
    const std::optional<std::uint64_t> id = RequestIdOf(entry);
    if (!id.has_value() || *id - origin_ > kSuffixMask) continue;
    // The time still counts: an earlier process may have found the same log, and its proposals may
    // be in the logs of others only.
    const std::uint64_t suffix = *id - origin_;
    const std::uint64_t least = (suffix + kUnseenIds + by_time % kUnseenIds) & kSuffixMask;
    // Ids wrap around: of two, the one that is less than half the range ahead of the other is
    // later.
    const bool is_ahead = ((next - least) & kSuffixMask) <= kSuffixMask / 2;
    if (!is_ahead) next = least;
  }
  suffix_.store(next, std::memory_order_relaxed);
}

}  // namespace kvorum::server
