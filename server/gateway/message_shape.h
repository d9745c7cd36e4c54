// The shapes of the API's messages as JSON shows them: their fields' names, numbers and types. The
// codecs of api know numbers only; the gateway's JSON (json_request.h, json_answer.h)
// goes by these tables.
//
// Constants. tests/gateway/message_shapes_test.cc compares every one with the .proto files.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace kvorum::server::gateway {

enum class ValueType : std::uint8_t {
  kInt64,
  kUint64,
  kUint32,
  kBool,
  kEnum,
  kString,
  kBytes,
  kMessage,
};

// The names of an enum's values, which count up from 0.
using EnumNames = std::span<const std::string_view>;

struct MessageShape;

struct FieldShape {
  std::uint32_t number = 0;
  std::string_view name;  // as in the .proto file
  ValueType type = ValueType::kInt64;
  bool repeated = false;
  bool of_oneof = false;
  EnumNames enum_names = {};              // of kEnum
  const MessageShape* message = nullptr;  // of kMessage

  // The other spelling that requests may use: "sortOrder" for "sort_order".
  std::string JsonName() const;
};

// Fields are in the order of their numbers, which is the order in which JSON shows them. A message
// has at most one oneof and 64 fields.
struct MessageShape {
  std::string_view full_name;  // "etcdserverpb.PutRequest"
  std::span<const FieldShape> fields;
  std::string_view oneof = {};  // "etcdserverpb.RequestOp.request"; empty without one

  // Null if there is none. Both spellings of a name are accepted.
  const FieldShape* Named(std::string_view name) const;
  const FieldShape* Numbered(std::uint32_t number) const;
};

// ---- for the tables ----

consteval FieldShape One(std::uint32_t number, std::string_view name, ValueType type) {
  return {.number = number, .name = name, .type = type};
}
consteval FieldShape Enum(std::uint32_t number, std::string_view name, EnumNames names) {
  return {.number = number, .name = name, .type = ValueType::kEnum, .enum_names = names};
}
consteval FieldShape Part(std::uint32_t number, std::string_view name,
                          const MessageShape& message) {
  return {.number = number, .name = name, .type = ValueType::kMessage, .message = &message};
}
consteval FieldShape Many(FieldShape field) {
  field.repeated = true;
  return field;
}
// A field of the message's oneof.
consteval FieldShape Either(FieldShape field) {
  field.of_oneof = true;
  return field;
}

}  // namespace kvorum::server::gateway
