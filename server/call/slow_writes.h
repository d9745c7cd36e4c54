// The time that writes wait on their way, as sums for the metrics: of the slow ones, and of a
// sample of all, so that a reader can see what makes a write slow. A write is slow if it takes more
// than kSlowTimes the mean of the writes before it on its loop.
//
// OnEnd runs on the loop of the call; the sums are for any thread. Cost: a few instructions a
// write; six searches in the marks for a slow one and for each kSampleEvery-th.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/thread_cells.h"
#include "rpc/call/service.h"
#include "server/state/write_stages.h"

namespace kvorum::server {

class SlowWrites {
 public:
  static constexpr int kSlowTimes = 3;
  static constexpr std::uint64_t kSampleEvery = 64;

  // A write's time is charged to these, one after the other.
  enum class Part : std::uint8_t {
    kRaft,     // from its arrival until it is appended: its loop, the hand-off, a leader elsewhere
    kLogTurn,  // until the log's writer takes it: the sync before it, the hand-off
    kLogSync,  // until it is durable here, or committed without that
    kCommit,   // until it is handed to the apply loop: the others' syncs, the hand-off
    kApplyTurn,  // until it is taken: the batches before it, the hand-off
    kApply,      // until its batch is applied and answered
    kAnswer,     // until its loop has sent the answer
  };
  static constexpr std::size_t kParts = 7;
  static std::string_view NameOf(Part part);
  enum class Kind : std::uint8_t { kSampled, kSlow };

  // The stages outlive this.
  SlowWrites(const WriteStages& stages, std::size_t loops);

  // A write that was answered with a success.
  void OnEnd(const rpc::CallContext& call, const rpc::CallEnd& end);

  std::uint64_t writes(Kind kind) const { return cells_.Sum(CellOf(kind, kParts)); }
  std::uint64_t nanos(Kind kind, Part part) const {
    return cells_.Sum(CellOf(kind, static_cast<std::size_t>(part)));
  }

 private:
  // A loop's own, so no two threads share a cache line.
  struct alignas(64) PerLoop {
    std::int64_t mean_ns = 0;
    std::uint64_t writes = 0;
  };
  static constexpr std::size_t kCellsOfKind = kParts + 1;
  static std::size_t CellOf(Kind kind, std::size_t what) {
    return static_cast<std::size_t>(kind) * kCellsOfKind + what;
  }
  void Charge(Kind kind, raft::Index index, TimePoint started, TimePoint ended);

  const WriteStages& stages_;
  std::vector<PerLoop> loops_;
  ThreadCells cells_{2 * kCellsOfKind};
};

}  // namespace kvorum::server
