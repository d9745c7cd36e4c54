// A snapshot's source that releases its reader when the follower takes too long: the reader pins
// every page that is freed meanwhile, so that the leader's file grows by the writes, and never
// shrinks. The transfer then fails, and Raft asks for a newer snapshot.
//
// Used by one thread at a time, like the source. It checks at each call.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/clock.h"
#include "base/error.h"
#include "mvcc/transfer/snapshot_stream.h"

namespace kvorum::server {

class BoundedSource final : public mvcc::SnapshotSource {
 public:
  // The limits of a follower's cost to the member's disk.
  struct Limits {
    Duration grace = std::chrono::minutes(10);
    // After the grace period the transfer must keep up with this rate.
    std::uint64_t bytes_per_second = std::uint64_t{16} << 20;
    // The database's file may grow by this much, or by half of its data.
    std::uint64_t growth_bytes = std::uint64_t{1} << 30;

    // The same for a transfer that is held to a rate, if it is not 0: keeping up with half of that
    // leaves time for a receiver that is slower at times.
    Limits HeldTo(std::uint64_t most_bytes_per_second) const;
  };
  struct Database {
    std::function<std::uint64_t()> file_bytes;
    // True if the disk has room for the file's growth, as far as known.
    std::function<bool()> has_space;
    std::uint64_t in_use_bytes = 0;
  };

  BoundedSource(std::unique_ptr<mvcc::SnapshotSource> source, Database database, const Clock& clock,
                Limits limits);

  // All three: kUnavailable for good once a limit is exceeded.
  Result<bool> Prepare() override;
  Result<SharedBytes> Next() override;
  Result<void> Look() override;
  Result<void> Use(mvcc::SnapshotFormat format) override { return source_->Use(format); }

 private:
  std::optional<Error> PassedLimit() const;
  Result<void> CheckLimits();

  std::unique_ptr<mvcc::SnapshotSource> source_;  // null once a limit is exceeded
  const Database database_;
  const Clock& clock_;
  const TimePoint deadline_;
  const std::uint64_t most_file_bytes_;
  std::optional<Error> passed_;
};

}  // namespace kvorum::server
