// The alarms that are raised: replicated state in the bucket `alarm`, kept across restarts until
// the operator disarms it.
//
// Changed by the apply executor only; reading is thread-safe. Stands() costs one atomic load.
#pragma once

#include <atomic>
#include <mutex>
#include <set>
#include <vector>

#include "api/alarm.h"
#include "api/entries/request_kind.h"
#include "base/api_errors.h"
#include "base/error.h"

namespace kvorum::server {

class Alarms {
 public:
  // Returns false if it was raised already, or is not raised.
  bool Activate(const Alarm& alarm);
  bool Deactivate(const Alarm& alarm);
  // Takes those of an installed snapshot.
  void Reset(std::set<Alarm> alarms);

  // By member, then type; kNone means all types.
  std::vector<Alarm> List(AlarmType type = AlarmType::kNone) const;
  bool Stands(AlarmType type) const {
    return (type == AlarmType::kCorrupt ? corrupt_ : no_space_).load(std::memory_order_relaxed);
  }
  // Refuses an entry as its row of the table of kinds says: kErrCorrupt, kErrNoSpace.
  Result<void> Admit(UnderCorruptAlarm under_corrupt_alarm, std::uint64_t cost_bytes) const {
    if (under_corrupt_alarm == UnderCorruptAlarm::kRefused && Stands(AlarmType::kCorrupt))
      return kErrCorrupt.Fail();
    if (cost_bytes > 0 && Stands(AlarmType::kNoSpace)) return kErrNoSpace.Fail();
    return {};
  }
  // The alarm of one member; takes a lock.
  bool Stands(const Alarm& alarm) const;

 private:
  void UpdateFlags();

  mutable std::mutex mutex_;
  std::set<Alarm> alarms_;
  std::atomic<bool> no_space_{false};
  std::atomic<bool> corrupt_{false};
};

}  // namespace kvorum::server
