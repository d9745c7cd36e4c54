#include "tools/text/json.h"

#include <fmt/format.h>
#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "base/base64.h"
#include "base/utf8.h"

namespace kvorum::ctl {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

std::string TextValue(const FieldDescriptor& field, const std::string& value) {
  return field.type() == FieldDescriptor::TYPE_BYTES ? JsonBytes(value) : JsonString(value);
}

std::string SingleValue(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  switch (field.cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return std::to_string(reflection.GetInt32(message, &field));
    case FieldDescriptor::CPPTYPE_INT64:
      return std::to_string(reflection.GetInt64(message, &field));
    case FieldDescriptor::CPPTYPE_UINT32:
      return std::to_string(reflection.GetUInt32(message, &field));
    case FieldDescriptor::CPPTYPE_UINT64:
      return std::to_string(reflection.GetUInt64(message, &field));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return fmt::format("{}", reflection.GetDouble(message, &field));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return fmt::format("{}", reflection.GetFloat(message, &field));
    case FieldDescriptor::CPPTYPE_BOOL:
      return reflection.GetBool(message, &field) ? "true" : "false";
    case FieldDescriptor::CPPTYPE_ENUM:
      return std::to_string(reflection.GetEnumValue(message, &field));
    case FieldDescriptor::CPPTYPE_STRING:
      return TextValue(field, reflection.GetString(message, &field));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return JsonMessage(reflection.GetMessage(message, &field));
  }
  return "null";
}

// The API has only messages and strings as repeated fields.
std::string RepeatedValue(const Message& message, const FieldDescriptor& field) {
  const Reflection& reflection = *message.GetReflection();
  std::string body;
  for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
    if (i > 0) body += ',';
    body += field.cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE
                ? JsonMessage(reflection.GetRepeatedMessage(message, &field, i))
                : TextValue(field, reflection.GetRepeatedString(message, &field, i));
  }
  return fmt::format("[{}]", body);
}

}  // namespace

std::string JsonString(std::string_view text) {
  std::string out = "\"";
  while (!text.empty()) {
    const Utf8Character c = ReadUtf8(text);
    const std::string_view raw = text.substr(0, c.size_bytes);
    text.remove_prefix(c.size_bytes);
    if (!c.valid) {
      out += "\\ufffd";
    } else if (c.code_point == '"' || c.code_point == '\\') {
      out.append("\\").append(raw);
    } else if (c.code_point == '\n') {
      out += "\\n";
    } else if (c.code_point == '\r') {
      out += "\\r";
    } else if (c.code_point == '\t') {
      out += "\\t";
    } else if (c.code_point == '\b') {
      out += "\\b";
    } else if (c.code_point == '\f') {
      out += "\\f";
    } else if (c.code_point < 0x20 || c.code_point == '<' || c.code_point == '>' ||
               c.code_point == '&' || c.code_point == 0x2028 || c.code_point == 0x2029) {
      out += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(c.code_point));
    } else {
      out += raw;
    }
  }
  return out + "\"";
}

std::string JsonBytes(std::string_view bytes) {
  return fmt::format("\"{}\"", EncodeBase64(Base64::kStandard, bytes));
}

JsonObject& JsonObject::Add(std::string_view name, std::string_view json) {
  if (!body_.empty()) body_ += ',';
  body_ += JsonString(name) + ":";
  body_ += json;
  return *this;
}

std::string JsonObject::Finish() const { return fmt::format("{{{}}}", body_); }

std::string JsonMessage(const Message& message) {
  const auto& descriptor = *message.GetDescriptor();
  const Reflection& reflection = *message.GetReflection();
  JsonObject object;
  for (int i = 0; i < descriptor.field_count(); ++i) {
    const FieldDescriptor& field = *descriptor.field(i);
    if (field.is_repeated()) {
      if (reflection.FieldSize(message, &field) > 0)
        object.Add(field.name(), RepeatedValue(message, field));
    } else if (reflection.HasField(message, &field)) {
      object.Add(field.name(), SingleValue(message, field));
    }
  }
  return object.Finish();
}

}  // namespace kvorum::ctl
