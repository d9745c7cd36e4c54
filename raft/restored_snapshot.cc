#include "raft/restored_snapshot.h"

#include <utility>

namespace kvorum::raft {

void RestoredSnapshot::Begin(std::shared_ptr<const Snapshot> snapshot, ConfState conf) {
  snapshot_ = std::move(snapshot);
  conf_ = std::move(conf);
}

std::shared_ptr<const Snapshot> RestoredSnapshot::GiveOut(std::uint64_t ready_number) {
  ready_number_ = ready_number;
  return std::exchange(snapshot_, nullptr);
}

void RestoredSnapshot::Persisted(std::uint64_t ready_number) {
  if (ready_number_ <= ready_number) ready_number_ = 0;
}

ConfState RestoredSnapshot::TakeConfState() { return *std::exchange(conf_, std::nullopt); }

}  // namespace kvorum::raft
