#include "server/messages/alarm.h"

#include "proto/wire.h"
#include "server/messages/kv_decode.h"

namespace kvorum::server {
namespace {

std::uint64_t OnWire(AlarmType type) { return static_cast<std::uint64_t>(type); }

}  // namespace

std::string EncodeAlarm(const Alarm& alarm) {
  std::string out;
  wire::AppendUint(out, 1, alarm.member);
  wire::AppendUint(out, 2, OnWire(alarm.type));
  return out;
}

Result<Alarm> DecodeAlarm(std::string_view bytes) {
  Alarm alarm;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == wire::VarintTag(1)) {
      alarm.member = reader.Varint();
    } else if (reader.tag() == wire::VarintTag(2)) {
      alarm.type = static_cast<AlarmType>(reader.Varint());
    } else {
      reader.Skip();
    }
  }
  if (!reader.ok()) return Fail(Code::kDataLoss, "alarm: a stored alarm is malformed");
  return alarm;
}

std::string AlarmText(const Alarm& alarm) {
  std::string text;
  if (alarm.member != raft::kNone) text = "memberID:" + std::to_string(alarm.member);
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
  std::string out;
  wire::AppendUint(out, 1, static_cast<std::uint64_t>(request.action));
  wire::AppendUint(out, 2, request.alarm.member);
  wire::AppendUint(out, 3, OnWire(request.alarm.type));
  return out;
}

Result<AlarmRequest> DecodeAlarmRequest(std::string_view bytes) {
  AlarmRequest request;
  wire::Reader reader(bytes);
  while (reader.Next()) {
    switch (reader.tag()) {
      case wire::VarintTag(1):
        request.action = static_cast<AlarmAction>(reader.Varint());
        break;
      case wire::VarintTag(2):
        request.alarm.member = reader.Varint();
        break;
      case wire::VarintTag(3):
        request.alarm.type = static_cast<AlarmType>(reader.Varint());
        break;
      default:
        reader.Skip();
    }
  }
  if (!reader.ok()) return MalformedRequest();
  return request;
}

}  // namespace kvorum::server
