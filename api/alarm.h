// Alarms in the API, the log and the bucket `alarm`.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::server {

// Open on the wire: any other value names no alarm.
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

// etcdserverpb.AlarmMember, as in the bucket's key and the API's answer.
std::string EncodeAlarm(const Alarm& alarm);
Result<Alarm> DecodeAlarm(std::string_view bytes);
// "NOSPACE"; the number of a type without a name.
std::string AlarmName(AlarmType type);
// "memberID:123 alarm:NOSPACE", as in Status and as scripts expect it.
std::string AlarmText(const Alarm& alarm);

std::string EncodeAlarmRequest(const AlarmRequest& request);
Result<AlarmRequest> DecodeAlarmRequest(std::string_view bytes);

}  // namespace kvorum::server
