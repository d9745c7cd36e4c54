// A leader's snapshot that has replaced this member's log, until it is on disk and in the state
// machine.
//
// Threading: used by the raft executor only. Order: Begin, GiveOut, Persisted, TakeConfState.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "proto/raft_types.h"

namespace kvorum::raft {

class RestoredSnapshot {
 public:
  // `conf` takes effect when the snapshot is installed: earlier changes may still be applied.
  void Begin(std::shared_ptr<const Snapshot> snapshot, ConfState conf);
  // True if no Ready had it yet.
  bool IsToBeWritten() const { return snapshot_ != nullptr; }
  // Puts it into the Ready of this number.
  std::shared_ptr<const Snapshot> GiveOut(std::uint64_t ready_number);
  void Persisted(std::uint64_t ready_number);
  bool IsDurable() const { return snapshot_ == nullptr && ready_number_ == 0; }
  // The configuration, to be taken once, when the snapshot is installed.
  bool HasConfState() const { return conf_.has_value(); }
  ConfState TakeConfState();

 private:
  std::shared_ptr<const Snapshot> snapshot_;
  std::uint64_t ready_number_ = 0;  // the Ready whose write has it; 0 if durable
  std::optional<ConfState> conf_;
};

}  // namespace kvorum::raft
