#include "server/gateway/json_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text/go_quote.h"
#include "base/text/parse_number.h"
#include "base/utf8.h"
#include "server/gateway/json_values.h"

namespace kvorum::server::gateway {
namespace {

constexpr std::size_t kEscapeBytes = 6;  // of \u0000

std::optional<char32_t> HexDigits(std::string_view digits) {
  return ParseNumber<unsigned>(digits, 16);
}

std::size_t CountCharacters(std::string_view text) {
  std::size_t count = 0;
  for (; !text.empty(); ++count) text.remove_prefix(ReadUtf8(text).size_bytes);
  return count;
}

constexpr char SimpleEscape(char c) {
  switch (c) {
    case 'b':
      return '\b';
    case 'f':
      return '\f';
    case 'n':
      return '\n';
    case 'r':
      return '\r';
    case 't':
      return '\t';
    default:
      return c;
  }
}

}  // namespace

Error JsonError(std::string_view text) {
  return {Code::kInvalidArgument, fmt::format("proto:\u00a0{}", text)};
}

std::string JsonReader::PlaceOf(std::size_t position) const {
  const std::string_view before = value_.substr(0, position);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t column = CountCharacters(before.substr(before.rfind('\n') + 1)) + 1;
  return fmt::format("(line {}:{})", line, column);
}

Error JsonReader::Fault(std::size_t position, std::string_view text) const {
  return JsonError(fmt::format("{}: {}", PlaceOf(position), text));
}

Error JsonReader::SyntaxFault(std::size_t position, std::string_view text) const {
  return JsonError(fmt::format("syntax error {}: {}", PlaceOf(position), text));
}

Error JsonReader::Unexpected(const JsonToken& token) const {
  return SyntaxFault(token.position, fmt::format("unexpected token {}", token.raw));
}

void JsonReader::SkipToToken() {
  const auto is_between = [](char c) { return IsSpace(c) || c == ',' || c == ':'; };
  while (position_ < value_.size() && is_between(value_[position_])) ++position_;
}

JsonToken::Kind JsonReader::Peek() {
  SkipToToken();
  if (position_ == value_.size()) return JsonToken::Kind::kEnd;
  switch (value_[position_]) {
    case '{':
      return JsonToken::Kind::kOpenObject;
    case '}':
      return JsonToken::Kind::kCloseObject;
    case '[':
      return JsonToken::Kind::kOpenArray;
    case ']':
      return JsonToken::Kind::kCloseArray;
    case '"':
      return JsonToken::Kind::kString;
    case 't':
    case 'f':
      return JsonToken::Kind::kBool;
    case 'n':
      return JsonToken::Kind::kNull;
    default:
      return JsonToken::Kind::kNumber;
  }
}

Result<JsonToken> JsonReader::Next() {
  JsonToken token{.kind = Peek(), .position = position_, .raw = {}, .text = {}};
  std::size_t size = 1;
  switch (token.kind) {
    case JsonToken::Kind::kEnd:
      return token;
    case JsonToken::Kind::kString:
      return ReadString();
    case JsonToken::Kind::kNumber:
    case JsonToken::Kind::kBool:
    case JsonToken::Kind::kNull:
      size = std::min(value_.find_first_of(" \t\r\n,]}", position_), value_.size()) - position_;
      break;
    case JsonToken::Kind::kOpenObject:
    case JsonToken::Kind::kCloseObject:
    case JsonToken::Kind::kOpenArray:
    case JsonToken::Kind::kCloseArray:
      break;
  }
  token.raw = value_.substr(position_, size);
  position_ += size;
  return token;
}

Result<JsonToken> JsonReader::ReadString() {
  const std::size_t start = position_;
  unescaped_.clear();
  bool has_escapes = false;
  std::string_view rest = value_.substr(start + 1);
  std::size_t plain = 0;  // characters of `rest` that stand for themselves
  for (;;) {
    while (static_cast<unsigned char>(rest[plain]) < 0x80 && rest[plain] != '"' &&
           rest[plain] != '\\')
      ++plain;
    if (static_cast<unsigned char>(rest[plain]) >= 0x80) {
      const std::size_t size = Utf8SequenceLength(rest.substr(plain));
      if (size == 0) return kvorum::Fail(SyntaxFault(start, "invalid UTF-8 in string"));
      plain += size;
      continue;
    }
    if (rest[plain] == '"') break;
    has_escapes = true;
    unescaped_.append(rest.substr(0, plain));
    rest.remove_prefix(plain);
    plain = 0;
    KV_RETURN_IF_ERROR(ReadEscape(start, rest));
  }
  const std::string_view tail = rest.substr(0, plain);
  rest.remove_prefix(plain + 1);
  position_ = value_.size() - rest.size();
  JsonToken token{.kind = JsonToken::Kind::kString,
                  .position = start,
                  .raw = value_.substr(start, position_ - start),
                  .text = tail};
  if (has_escapes) token.text = unescaped_.append(tail);
  return token;
}

// Takes the escape from the front of `rest`.
Result<void> JsonReader::ReadEscape(std::size_t start, std::string_view& rest) {
  if (rest[1] != 'u') {
    unescaped_ += SimpleEscape(rest[1]);
    rest.remove_prefix(2);
    return {};
  }
  char32_t character = *HexDigits(rest.substr(2, 4));
  rest.remove_prefix(kEscapeBytes);
  if (!IsScalarValue(character)) {  // the first half of a pair
    if (rest.size() < kEscapeBytes) return kvorum::Fail(JsonError("unexpected EOF"));
    const auto second = HexDigits(rest.substr(2, 4));
    const bool is_pair = rest.starts_with("\\u") && second.has_value() && character < 0xdc00 &&
                         *second >= 0xdc00 && *second <= 0xdfff;
    if (!is_pair) {
      return kvorum::Fail(SyntaxFault(start, fmt::format("invalid escape code {} in string",
                                                         GoQuote(rest.substr(0, kEscapeBytes)))));
    }
    character = 0x10000 + ((character - 0xd800) << 10) + (*second - 0xdc00);
    rest.remove_prefix(kEscapeBytes);
  }
  AppendUtf8(character, unescaped_);
  return {};
}

Result<void> JsonReader::Skip() {
  std::size_t depth = 0;
  do {
    KV_TRY(const JsonToken token, Next());
    if (token.kind == JsonToken::Kind::kEnd) return kvorum::Fail(Unexpected(token));
    const bool opens =
        token.kind == JsonToken::Kind::kOpenObject || token.kind == JsonToken::Kind::kOpenArray;
    const bool closes =
        token.kind == JsonToken::Kind::kCloseObject || token.kind == JsonToken::Kind::kCloseArray;
    if (opens) ++depth;
    if (closes) --depth;
  } while (depth > 0);
  return {};
}

}  // namespace kvorum::server::gateway
