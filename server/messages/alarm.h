// Alarms as the API, the log and the bucket `alarm` know them.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

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

}  // namespace kvorum::server
