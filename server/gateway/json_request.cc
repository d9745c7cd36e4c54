#include "server/gateway/json_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <optional>

#include "proto/wire.h"
#include "server/gateway/json_base64.h"
#include "server/gateway/json_fields.h"
#include "server/gateway/json_reader.h"

namespace kvorum::server::gateway {
namespace {

constexpr std::size_t kLengthBytes = 4;  // room for 256 MiB, far more than a request may have

// The length in exactly kLengthBytes: all but the last have the bit that another follows.
void PutLength(std::string& out, std::size_t at, std::size_t length) {
  for (std::size_t i = 0; i < kLengthBytes; ++i) {
    const bool is_last = i + 1 == kLengthBytes;
    out[at + i] = static_cast<char>((length & 0x7f) | (is_last ? 0 : 0x80));
    length >>= 7;
  }
}

// The kind of a field in error texts.
std::string_view NameOf(FieldType type) {
  switch (type) {
    case FieldType::kInt64:
      return "int64";
    case FieldType::kUint64:
      return "uint64";
    case FieldType::kUint32:
      return "uint32";
    case FieldType::kBool:
      return "bool";
    case FieldType::kEnum:
      return "enum";
    case FieldType::kString:
      return "string";
    case FieldType::kBytes:
      return "bytes";
    case FieldType::kMessage:
      return "message";
  }
  return {};
}

// The number that a token of a number field stands for, if it is one; strings hold one, with no
// space around it.
std::string_view NumberOf(const JsonToken& token) {
  if (token.kind == JsonToken::Kind::kNumber) return token.raw;
  if (token.kind != JsonToken::Kind::kString || EndsWithSpace(token.text)) return {};
  return NumberIn(token.text);
}

class RequestEncoder {
 public:
  explicit RequestEncoder(std::string_view value) : reader_(value) {}

  Result<std::string> Encode(const wire::Table& table) {
    KV_RETURN_IF_ERROR(Message(table));
    return std::move(out_);
  }

 private:
  using Kind = JsonToken::Kind;

  Result<void> Message(const wire::Table& table);
  Result<void> Field(const wire::Table& table, const wire::Row& field, const JsonToken& name,
                     bool& oneof_seen);
  Result<void> List(const wire::Row& field);
  Result<void> Part(const wire::Row& field);
  // `keeps_zero`: the value is written even if it is the field's zero.
  Result<void> Scalar(const wire::Row& field, bool keeps_zero);
  // False if the token is not a value of the field.
  bool PutScalar(const wire::Row& field, const JsonToken& token, bool keeps_zero);
  bool PutNumber(const wire::Row& field, std::optional<std::uint64_t> number, bool keeps_zero);
  bool PutBytes(const wire::Row& field, std::string_view bytes, bool keeps_zero);
  bool PutEnum(const wire::Row& field, const JsonToken& token, bool keeps_zero);

  JsonReader reader_;
  std::string out_;
  std::size_t depth_ = 0;
};

Result<void> RequestEncoder::Message(const wire::Table& table) {
  if (depth_ == kMaxMessageDepth) return Fail(JsonError("exceeded max recursion depth"));
  ++depth_;
  KV_TRY(const JsonToken open, reader_.Next());
  if (open.kind != Kind::kOpenObject) return Fail(reader_.Unexpected(open));
  std::uint64_t seen = 0;
  bool oneof_seen = false;
  for (;;) {
    KV_TRY(const JsonToken name, reader_.Next());
    if (name.kind == Kind::kCloseObject) break;
    const wire::Row* const field = FieldNamed(table, name.text);
    if (field == nullptr) {
      KV_RETURN_IF_ERROR(reader_.Skip());
      continue;
    }
    const std::uint64_t bit = std::uint64_t{1} << (field - table.rows.data());
    if ((seen & bit) != 0)
      return Fail(reader_.Fault(name.position, fmt::format("duplicate field {}", name.raw)));
    seen |= bit;
    KV_RETURN_IF_ERROR(Field(table, *field, name, oneof_seen));
  }
  --depth_;
  return {};
}

Result<void> RequestEncoder::Field(const wire::Table& table, const wire::Row& field,
                                   const JsonToken& name, bool& oneof_seen) {
  if (reader_.Peek() == Kind::kNull) return reader_.Skip();
  if (field.repeated) return List(field);
  if (!field.oneof.empty() && std::exchange(oneof_seen, true)) {
    return Fail(reader_.Fault(
        name.position, fmt::format("error parsing {}, oneof {} is already set", name.raw,
                                   std::string(table.names) + "." + std::string(field.oneof))));
  }
  return field.type == FieldType::kMessage ? Part(field) : Scalar(field, !field.oneof.empty());
}

Result<void> RequestEncoder::List(const wire::Row& field) {
  KV_TRY(const JsonToken open, reader_.Next());
  if (open.kind != Kind::kOpenArray) return Fail(reader_.Unexpected(open));
  while (reader_.Peek() != Kind::kCloseArray) {
    KV_RETURN_IF_ERROR(field.type == FieldType::kMessage ? Part(field) : Scalar(field, true));
  }
  KV_TRY(const JsonToken close, reader_.Next());
  static_cast<void>(close);
  return {};
}

Result<void> RequestEncoder::Part(const wire::Row& field) {
  wire::AppendVarint(out_, wire::BytesTag(field.number));
  const std::size_t at = out_.size();
  out_.append(kLengthBytes, '\0');
  KV_RETURN_IF_ERROR(Message(*field.nested));
  PutLength(out_, at, out_.size() - at - kLengthBytes);
  return {};
}

Result<void> RequestEncoder::Scalar(const wire::Row& field, bool keeps_zero) {
  KV_TRY(const JsonToken token, reader_.Next());
  if (PutScalar(field, token, keeps_zero)) return {};
  return Fail(reader_.Fault(token.position,
                            fmt::format("invalid value for {} field {}: {}", NameOf(field.type),
                                        JsonName(field.name), token.raw)));
}

bool RequestEncoder::PutScalar(const wire::Row& field, const JsonToken& token, bool keeps_zero) {
  const bool is_string = token.kind == Kind::kString;
  switch (field.type) {
    case FieldType::kInt64: {
      const auto number = IntegerOf(NumberOf(token));
      if (!number) return false;
      return PutNumber(field, static_cast<std::uint64_t>(*number), keeps_zero);
    }
    case FieldType::kUint64:
      return PutNumber(field, UnsignedOf(NumberOf(token)), keeps_zero);
    case FieldType::kUint32: {
      const auto number = UnsignedOf(NumberOf(token));
      return number <= UINT32_MAX && PutNumber(field, number, keeps_zero);
    }
    case FieldType::kBool:
      return token.kind == Kind::kBool && PutNumber(field, token.raw == "true" ? 1 : 0, keeps_zero);
    case FieldType::kEnum:
      return PutEnum(field, token, keeps_zero);
    case FieldType::kString:
      return is_string && PutBytes(field, token.text, keeps_zero);
    case FieldType::kBytes: {
      if (!is_string) return false;
      const auto bytes = DecodeJsonBytes(token.text);
      return bytes.has_value() && PutBytes(field, *bytes, keeps_zero);
    }
    case FieldType::kMessage:
      break;
  }
  return false;
}

bool RequestEncoder::PutNumber(const wire::Row& field, std::optional<std::uint64_t> number,
                               bool keeps_zero) {
  if (!number.has_value()) return false;
  if (*number != 0 || keeps_zero) wire::AppendUintAlways(out_, field.number, *number);
  return true;
}

bool RequestEncoder::PutBytes(const wire::Row& field, std::string_view bytes, bool keeps_zero) {
  if (!bytes.empty() || keeps_zero) wire::AppendBytesAlways(out_, field.number, bytes);
  return true;
}

bool RequestEncoder::PutEnum(const wire::Row& field, const JsonToken& token, bool keeps_zero) {
  if (token.kind == Kind::kString) {
    const auto found = std::ranges::find(field.values, token.text);
    if (found == field.values.end()) return true;  // as if the field were unknown
    return PutNumber(field, static_cast<std::uint64_t>(found - field.values.begin()), keeps_zero);
  }
  if (token.kind != Kind::kNumber) return false;
  const auto number = IntegerOf(token.raw);
  if (!number || *number < INT32_MIN || *number > INT32_MAX) return false;
  return PutNumber(field, static_cast<std::uint64_t>(*number), keeps_zero);
}

}  // namespace

Result<std::string> EncodeJsonRequest(const wire::Table& table, std::string_view value) {
  return RequestEncoder(value).Encode(table);
}

}  // namespace kvorum::server::gateway
