// Ships one base: an image of the member's state in parts, each an object, and the manifest last.
//
// The image's reader is looked after while the store is waited for: a put runs on a thread of its
// own meanwhile, since a stalled one may last for minutes.
// Threading: used by the archiver's base thread. Memory: a part, raw and packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "archive/format/records.h"
#include "archive/ship/archive_status.h"
#include "archive/ship/archived_member.h"
#include "archive/ship/ship_error.h"
#include "archive/store/object_store.h"
#include "archive/store/stop_signal.h"
#include "base/clock.h"

namespace kvorum::archive {

// Bytes of the image in one part.
inline constexpr std::size_t kPartBytes = std::size_t{16} << 20;

class BaseShipper {
 public:
  BaseShipper(ArchivedMember& member, const Clock& clock, const StopSignal& stop,
              ArchiveStatus& status, std::size_t part_bytes = kPartBytes);

  // A base of this history, of a time not before `time_ms` and an entry not before `least`. kMember
  // with a text if the database has not come so far, the image was given up, the member no longer
  // leads, or the base took a day: what was put of it is left to retention, and the next call
  // begins anew.
  ShipResult<BaseName> Ship(ObjectStore& store, HistoryId history, UnixMillis time_ms,
                            raft::Index least);

 private:
  class Base;

  UnixMillis WallMillis() const { return clock_.WallNanos() / 1'000'000; }

  ArchivedMember& member_;
  const Clock& clock_;
  const StopSignal& stop_;
  ArchiveStatus& status_;
  const std::size_t part_bytes_;
};

}  // namespace kvorum::archive
