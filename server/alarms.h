// The alarms that stand: replicated state in the bucket `alarm`, kept across restarts until the
// operator disarms it.
//
// Changed by the apply executor only; reading is thread-safe. Stands() costs one atomic load.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::server {

// Open on the wire: a value that is none of these names no alarm.
enum class AlarmType : std::int32_t { kNone = 0, kNoSpace = 1, kCorrupt = 2 };
enum class AlarmAction : std::int32_t { kGet = 0, kActivate = 1, kDeactivate = 2 };

struct Alarm {
  raft::MemberId member = raft::kNone;
  AlarmType type = AlarmType::kNone;
  friend auto operator<=>(const Alarm&, const Alarm&) = default;
};

struct AlarmRequest {
  AlarmAction action = AlarmAction::kGet;
  Alarm alarm;
};

// etcdserverpb.AlarmMember, as the bucket's key and the API's answer have it.
std::string EncodeAlarm(const Alarm& alarm);
Result<Alarm> DecodeAlarm(std::string_view bytes);
// "NOSPACE"; the number of a type that has no name.
std::string AlarmName(AlarmType type);
// "memberID:123 alarm:NOSPACE", as Status and scripts show it.
std::string AlarmText(const Alarm& alarm);

std::string EncodeAlarmRequest(const AlarmRequest& request);
Result<AlarmRequest> DecodeAlarmRequest(std::string_view bytes);

class Alarms {
 public:
  // False if it stood already, or does not stand.
  bool Activate(const Alarm& alarm);
  bool Deactivate(const Alarm& alarm);
  // Those of an installed snapshot.
  void Reset(std::set<Alarm> alarms);

  // By member, then type; kNone asks for all.
  std::vector<Alarm> List(AlarmType type = AlarmType::kNone) const;
  bool Stands(AlarmType type) const {
    return (type == AlarmType::kCorrupt ? corrupt_ : no_space_).load(std::memory_order_relaxed);
  }
  // That of one member; a lock.
  bool Stands(const Alarm& alarm) const;

 private:
  void UpdateFlags();

  mutable std::mutex mutex_;
  std::set<Alarm> alarms_;
  std::atomic<bool> no_space_{false};
  std::atomic<bool> corrupt_{false};
};

}  // namespace kvorum::server
