#include "server/gateway/json_answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

#include "base/base64.h"
#include "base/utf8.h"
#include "proto/wire.h"
#include "server/gateway/json_fields.h"

namespace kvorum::server::gateway {
namespace {

enum class Spelling : std::uint8_t { kAlone, kInLine };

class AnswerWriter {
 public:
  explicit AnswerWriter(Spelling spelling) : spelling_(spelling) {}

  void Message(const wire::Table& table, std::string_view message);
  void Status(const Error& error);
  std::string& out() { return out_; }

 private:
  // One value of a field, as it came.
  struct Value {
    const wire::Row* field = nullptr;
    std::uint64_t number = 0;
    std::string_view bytes;

    bool IsZero() const { return number == 0 && bytes.empty(); }
  };
  using Values = std::vector<Value>;

  static Values ValuesOf(const wire::Table& table, std::string_view message);
  void One(const Value& value);
  void Name(std::string_view name);
  void Comma() { out_ += spelling_ == Spelling::kAlone ? ", " : ","; }
  void Text(std::string_view text);
  void Character(std::string_view character);

  const Spelling spelling_;
  std::string out_;
};

AnswerWriter::Values AnswerWriter::ValuesOf(const wire::Table& table, std::string_view message) {
  Values values;
  wire::Reader reader(message);
  while (reader.Next()) {
    const wire::Row* const field = FieldNumbered(table, reader.field());
    if (field == nullptr) {
      reader.Skip();
      continue;
    }
    const bool is_bytes = field->type == FieldType::kString || field->type == FieldType::kBytes ||
                          field->type == FieldType::kMessage;
    if (is_bytes) {
      values.push_back({.field = field, .number = 0, .bytes = reader.Bytes()});
    } else if (field->repeated) {
      reader.RepeatedVarint([&](std::uint64_t number) {
        values.push_back({.field = field, .number = number, .bytes = {}});
      });
    } else {
      values.push_back({.field = field, .number = reader.Varint(), .bytes = {}});
    }
  }
  const auto by_number = [](const Value& value) { return value.field->number; };
  if (!std::ranges::is_sorted(values, {}, by_number))
    std::ranges::stable_sort(values, {}, by_number);
  return values;
}

void AnswerWriter::Message(const wire::Table& table, std::string_view message) {
  out_ += '{';
  const Values values = ValuesOf(table, message);
  bool first = true;
  for (auto value = values.begin(); value != values.end();) {
    const wire::Row& field = *value->field;
    const auto end = std::find_if(value, values.end(),
                                  [&field](const Value& other) { return other.field != &field; });
    const Value& last = *std::prev(end);
    const bool has_presence = field.type == FieldType::kMessage || !field.oneof.empty();
    if (field.repeated || has_presence || !last.IsZero()) {
      if (!std::exchange(first, false)) Comma();
      Name(field.name);
      if (field.repeated) {
        out_ += '[';
        for (auto element = value; element != end; ++element) {
          if (element != value) Comma();
          One(*element);
        }
        out_ += ']';
      } else {
        One(last);
      }
    }
    value = end;
  }
  out_ += '}';
}

void AnswerWriter::One(const Value& value) {
  const wire::Row& field = *value.field;
  switch (field.type) {
    case FieldType::kInt64:
      fmt::format_to(std::back_inserter(out_), R"("{}")", static_cast<std::int64_t>(value.number));
      return;
    case FieldType::kUint64:
      fmt::format_to(std::back_inserter(out_), R"("{}")", value.number);
      return;
    case FieldType::kUint32:
      fmt::format_to(std::back_inserter(out_), "{}", static_cast<std::uint32_t>(value.number));
      return;
    case FieldType::kBool:
      out_ += value.number != 0 ? "true" : "false";
      return;
    case FieldType::kEnum:
      if (value.number < field.values.size()) return Text(field.values[value.number]);
      fmt::format_to(std::back_inserter(out_), "{}", static_cast<std::int32_t>(value.number));
      return;
    case FieldType::kString:
      return Text(value.bytes);
    case FieldType::kBytes:
      out_ += '"';
      AppendBase64(out_, value.bytes);
      out_ += '"';
      return;
    case FieldType::kMessage:
      return Message(*field.nested, value.bytes);
  }
}

void AnswerWriter::Status(const Error& error) {
  out_ += '{';
  Name("code");
  fmt::format_to(std::back_inserter(out_), "{}", static_cast<int>(error.code));
  if (!error.message.empty()) {
    Comma();
    Name("message");
    Text(error.message);
  }
  out_ += '}';
}

void AnswerWriter::Name(std::string_view name) {
  out_ += '"';
  out_ += name;
  out_ += "\":";
}

void AnswerWriter::Text(std::string_view text) {
  out_ += '"';
  while (!text.empty()) {
    const Utf8Character next = ReadUtf8(text);
    Character(next.valid ? text.substr(0, next.size_bytes) : "\ufffd");
    text.remove_prefix(next.size_bytes);
  }
  out_ += '"';
}

void AnswerWriter::Character(std::string_view character) {
  if (spelling_ == Spelling::kInLine) {
    if (character == "\u2028") return static_cast<void>(out_ += "\\u2028");
    if (character == "\u2029") return static_cast<void>(out_ += "\\u2029");
    if (character == "<" || character == ">" || character == "&") {
      fmt::format_to(std::back_inserter(out_), "\\u{:04x}", character[0]);
      return;
    }
  }
  if (character.size() > 1) return static_cast<void>(out_ += character);
  switch (const char c = character[0]; c) {
    case '"':
    case '\\':
      out_ += '\\';
      out_ += c;
      return;
    case '\b':
      out_ += "\\b";
      return;
    case '\f':
      out_ += "\\f";
      return;
    case '\n':
      out_ += "\\n";
      return;
    case '\r':
      out_ += "\\r";
      return;
    case '\t':
      out_ += "\\t";
      return;
    default:
      if (c >= 0 && c < ' ') {
        fmt::format_to(std::back_inserter(out_), "\\u{:04x}", c);
      } else {
        out_ += c;
      }
  }
}

}  // namespace

std::string JsonAnswer(const wire::Table& table, std::string_view message) {
  AnswerWriter writer(Spelling::kAlone);
  writer.out().reserve(message.size() * 3 / 2 + 64);
  writer.Message(table, message);
  return std::move(writer.out());
}

std::string JsonStatus(const Error& error) {
  AnswerWriter writer(Spelling::kAlone);
  writer.Status(error);
  return std::move(writer.out());
}

std::string JsonResultLine(const wire::Table& table, std::string_view message) {
  AnswerWriter writer(Spelling::kInLine);
  writer.out().reserve(message.size() * 3 / 2 + 64);
  writer.out() = R"({"result":)";
  writer.Message(table, message);
  return std::move(writer.out().append("}\n"));
}

std::string JsonErrorLine(const Error& error) {
  AnswerWriter writer(Spelling::kInLine);
  writer.out() = R"({"error":)";
  writer.Status(error);
  return std::move(writer.out().append("}\n"));
}

}  // namespace kvorum::server::gateway
