// Archives the member that it runs in, while that leads: committed entries each interval, a base
// each base interval, and then what retention no longer keeps is deleted. While another member
// leads it looks up the archive's mark, so that this member's log is kept as far as needed.
//
// A member that comes to lead goes on where the archive stands, by a listing. Only committed
// entries are archived and no object is replaced, so that two members that both believe to lead do
// no harm (docs/decisions/0071). An archive that is of other data, or ahead of this member's, is
// not written to: its history goes on only with entries that fit.
//
// Threads: one for the log and the mark, one for bases and retention, since a base may take longer
// than the log may wait. Start and Stop belong to the owner; Stop waits for both threads, at most
// about a second. Memory: an object being made (kMaxObjectBytes), twice, and what the catalog's
// listing needs.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "archive/ship/archive_status.h"
#include "archive/ship/archived_member.h"
#include "archive/store/object_store.h"
#include "archive/store/stop_signal.h"
#include "base/clock.h"

namespace kvorum::archive {

struct ArchiverOptions {
  Duration interval = std::chrono::seconds(1);
  Duration base_interval = std::chrono::hours(1);
  // Retention: bases older than this go, and the entries before the oldest base that stays. 0: no
  // limit of age.
  Duration keep_for = Duration::zero();
  // At most so many bases stay; the newest one always does. 0: no limit.
  std::uint64_t keep_bases = 0;
  // An archive that this member's data does not go on with gets a new history, instead of being
  // refused.
  bool new_history = false;
};

class Archiver {
 public:
  // Opens a store for one thread; called again after an error. Each is used by one of the two.
  using OpenStoreFunction = std::function<StoreResult<std::unique_ptr<ObjectStore>>()>;

  // All references outlive the archiver.
  Archiver(ArchivedMember& member, OpenStoreFunction open, const Clock& clock, StopSignal& stop,
           ArchiveStatus& status, ArchiverOptions options);
  ~Archiver();
  Archiver(const Archiver&) = delete;
  Archiver& operator=(const Archiver&) = delete;

  void Start();
  void Stop();

 private:
  class Threads;
  std::unique_ptr<Threads> threads_;
};

}  // namespace kvorum::archive
