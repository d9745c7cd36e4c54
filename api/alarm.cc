#include "api/alarm.h"

#include <iterator>

#include "api/tables.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kAlarmActions[] = {"GET", "ACTIVATE", "DEACTIVATE"};
constexpr std::string_view kAlarmTypes[] = {"NONE", "NOSPACE", "CORRUPT"};

// On the wire an alarm's fields are part of the request itself.
struct FlatRequest {
  AlarmAction action = AlarmAction::kGet;
  raft::MemberId member = raft::kNone;
  AlarmType type = AlarmType::kNone;
};
constexpr auto kAlarmRequest =
    Describe<FlatRequest, Enum<1, &FlatRequest::action, kAlarmActions, "action", kShown>,
             Field<2, &FlatRequest::member, "memberID", kShown>,
             Enum<3, &FlatRequest::type, kAlarmTypes, "alarm", kShown>>(
        "etcdserverpb.AlarmRequest");

constexpr const wire::Table* kAlarmTables[] = {&kAlarm, &kAlarmRequest};

}  // namespace

constexpr wire::Message<Alarm> kAlarm =
    Describe<Alarm, Field<1, &Alarm::member, "memberID">,
             Enum<2, &Alarm::type, kAlarmTypes, "alarm">>("etcdserverpb.AlarmMember");

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
  const auto number = static_cast<std::int32_t>(type);
  const auto place = static_cast<std::uint32_t>(number);
  return place < std::size(kAlarmTypes) ? std::string(kAlarmTypes[place]) : std::to_string(number);
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
