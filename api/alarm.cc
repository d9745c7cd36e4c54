#include "api/alarm.h"

#include "api/tables.h"

namespace kvorum::server {
namespace {

// On the wire an alarm's fields are part of the request itself.
struct FlatRequest {
  AlarmAction action = AlarmAction::kGet;
  raft::MemberId member = raft::kNone;
  AlarmType type = AlarmType::kNone;
};
constexpr auto kAlarmRequest =
    Describe<FlatRequest, Field<1, &FlatRequest::action>, Field<2, &FlatRequest::member>,
             Field<3, &FlatRequest::type>>("etcdserverpb.AlarmRequest");

constexpr const wire::Table* kAlarmTables[] = {&kAlarm, &kAlarmRequest};

}  // namespace

constexpr wire::Message<Alarm> kAlarm =
    Describe<Alarm, Field<1, &Alarm::member>, Field<2, &Alarm::type>>("etcdserverpb.AlarmMember");

MessageTables AlarmTables() { return kAlarmTables; }

std::string EncodeAlarm(const Alarm& alarm) { return wire::Encode(kAlarm, alarm); }

Result<Alarm> DecodeAlarm(std::string_view bytes) {
  Alarm alarm;
  if (wire::Decode(kAlarm, bytes, alarm) == wire::Decoded::kOk) return alarm;
  return Fail(Code::kDataLoss, "alarm: a stored alarm is malformed");
}

std::string AlarmText(const Alarm& alarm) {
  std::string text;
  if (alarm.member != raft::kNone) text = "memberID:" + std::to_string(alarm.member.value());
  if (alarm.type == AlarmType::kNone) return text;
  if (!text.empty()) text += ' ';
  return text + "alarm:" + AlarmName(alarm.type);
}

std::string AlarmName(AlarmType type) {
  switch (type) {
    case AlarmType::kNone:
      return "NONE";
    case AlarmType::kNoSpace:
      return "NOSPACE";
    case AlarmType::kCorrupt:
      return "CORRUPT";
  }
  return std::to_string(static_cast<std::int32_t>(type));
}

std::string EncodeAlarmRequest(const AlarmRequest& request) {
  return wire::Encode(
      kAlarmRequest,
      {.action = request.action, .member = request.alarm.member, .type = request.alarm.type});
}

Result<AlarmRequest> DecodeAlarmRequest(std::string_view bytes) {
  KV_TRY(const FlatRequest request, wire::DecodeRequest(kAlarmRequest, bytes));
  return AlarmRequest{.action = request.action,
                      .alarm = {.member = request.member, .type = request.type}};
}

}  // namespace kvorum::server
