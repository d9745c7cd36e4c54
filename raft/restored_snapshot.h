// A leader's snapshot that has taken the place of this member's log, on its way through the disk
// and into the state machine.
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
  // `conf` counts from when the snapshot is installed: changes before it may still be applied.
  void Begin(std::shared_ptr<const Snapshot> snapshot, ConfState conf);
  // It is in no Ready yet.
  bool IsToBeWritten() const { return snapshot_ != nullptr; }
  // Into the Ready of this number.
  std::shared_ptr<const Snapshot> GiveOut(std::uint64_t ready_number);
  void Persisted(std::uint64_t ready_number);
  bool IsDurable() const { return snapshot_ == nullptr && ready_number_ == 0; }
  // The configuration, once, when the snapshot is installed.
  bool HasConfState() const { return conf_.has_value(); }
  ConfState TakeConfState();

 private:
  std::shared_ptr<const Snapshot> snapshot_;
  std::uint64_t ready_number_ = 0;  // whose write holds the last one; 0 if durable
  std::optional<ConfState> conf_;
};

}  // namespace kvorum::raft
