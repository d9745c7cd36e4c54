#include "server/gateway/json_values.h"

#include <fmt/format.h>

#include "base/letter_case.h"
#include "base/utf8.h"

namespace kvorum::server::gateway {
namespace {

constexpr bool IsHexDigit(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// A byte as the texts show it: as the code point of that number.
std::string Quoted(char c) {
  const auto byte = static_cast<unsigned char>(c);
  switch (byte) {
    case '\'':
      return R"('\'')";
    case '\\':
      return R"('\\')";
    case '\a':
      return R"('\a')";
    case '\b':
      return R"('\b')";
    case '\f':
      return R"('\f')";
    case '\n':
      return R"('\n')";
    case '\r':
      return R"('\r')";
    case '\t':
      return R"('\t')";
    case '\v':
      return R"('\v')";
    default:
      break;
  }
  constexpr unsigned char kSoftHyphen = 0xad;
  if (byte < ' ' || byte == 0x7f) return fmt::format(R"('\x{:02x}')", byte);
  if ((byte > 0x7f && byte <= 0xa0) || byte == kSoftHyphen)
    return fmt::format(R"('\u{:04x}')", byte);
  std::string quoted = "'";
  AppendUtf8(byte, quoted);
  return quoted + "'";
}

}  // namespace

std::expected<std::optional<std::string_view>, std::string> JsonValues::Next() {
  if (!fault_.empty()) return std::unexpected(fault_);
  if (!SkipSpace()) return std::nullopt;
  const std::size_t start = position_;
  expects_ = Expects::kValue;
  bool complete = false;
  do {
    complete = TakeStructure();
  } while (complete && !levels_.empty());
  if (complete) return text_.substr(start, position_ - start);
  if (fault_.empty()) fault_ = "unexpected EOF";
  return std::unexpected(fault_);
}

bool JsonValues::SkipSpace() {
  while (!at_end() && IsSpace(Here())) ++position_;
  return !at_end();
}

bool JsonValues::Fault(std::string_view where) {
  if (!at_end()) fault_ = fmt::format("invalid character {} {}", Quoted(Here()), where);
  return false;
}

// One bracket, comma, colon, name or scalar.
bool JsonValues::TakeStructure() {
  if (!SkipSpace()) return false;
  const char c = Here();
  switch (expects_) {
    case Expects::kValueOrEnd:
      if (c == ']') break;
      [[fallthrough]];
    case Expects::kValue:
      if (c == '{') return Open(Level::kObject);
      if (c == '[') return Open(Level::kArray);
      expects_ = Expects::kCommaOrEnd;
      return TakeScalar();
    case Expects::kNameOrEnd:
      if (c == '}') break;
      [[fallthrough]];
    case Expects::kName:
      if (c != '"') return Fault("looking for beginning of object key string");
      expects_ = Expects::kColon;
      return TakeString();
    case Expects::kColon:
      if (c != ':') return Fault("after object key");
      expects_ = Expects::kValue;
      ++position_;
      return true;
    case Expects::kCommaOrEnd: {
      const bool in_object = levels_.back() == Level::kObject;
      if (c == ',') {
        expects_ = in_object ? Expects::kName : Expects::kValue;
        ++position_;
        return true;
      }
      if (c != (in_object ? '}' : ']'))
        return Fault(in_object ? "after object key:value pair" : "after array element");
      break;
    }
  }
  ++position_;  // the end of an object or array
  levels_.pop_back();
  expects_ = Expects::kCommaOrEnd;
  return true;
}

bool JsonValues::Open(Level level) {
  if (levels_.size() == kMaxDepth) return Fault("exceeded max depth");
  levels_.push_back(level);
  expects_ = level == Level::kObject ? Expects::kNameOrEnd : Expects::kValueOrEnd;
  ++position_;
  return true;
}

bool JsonValues::TakeScalar() {
  switch (Here()) {
    case '"':
      return TakeString();
    case 't':
      return TakeWord("true");
    case 'f':
      return TakeWord("false");
    case 'n':
      return TakeWord("null");
    default:
      if (Here() == '-' || IsDigit(Here())) return TakeNumber();
      return Fault("looking for beginning of value");
  }
}

bool JsonValues::TakeWord(std::string_view word) {
  for (const char expected : word) {
    if (at_end()) return false;
    if (Here() != expected)
      return Fault(fmt::format("in literal {} (expecting '{}')", word, expected));
    ++position_;
  }
  return true;
}

bool JsonValues::TakeString() {
  ++position_;
  for (; !at_end(); ++position_) {
    const char c = Here();
    if (c == '"') {
      ++position_;
      return true;
    }
    if (static_cast<unsigned char>(c) < ' ') return Fault("in string literal");
    if (c != '\\') continue;
    ++position_;
    if (at_end()) return false;
    if (Here() != 'u') {
      if (std::string_view("bfnrt\\/\"").find(Here()) == std::string_view::npos)
        return Fault("in string escape code");
      continue;
    }
    for (int digit = 0; digit < 4; ++digit) {
      ++position_;
      if (at_end()) return false;
      if (!IsHexDigit(Here())) return Fault("in \\u hexadecimal character escape");
    }
  }
  return false;
}

bool JsonValues::TakeDigits(std::string_view where) {
  if (at_end()) return false;
  if (!IsDigit(Here())) return Fault(where);
  while (!at_end() && IsDigit(Here())) ++position_;
  return true;
}

bool JsonValues::TakeNumber() {
  if (Here() == '-') ++position_;
  if (!at_end() && Here() == '0') {
    ++position_;
  } else if (!TakeDigits("in numeric literal")) {
    return false;
  }
  if (!at_end() && Here() == '.') {
    ++position_;
    if (!TakeDigits("after decimal point in numeric literal")) return false;
  }
  if (!at_end() && (Here() == 'e' || Here() == 'E')) {
    ++position_;
    if (!at_end() && (Here() == '+' || Here() == '-')) ++position_;
    if (!TakeDigits("in exponent of numeric literal")) return false;
  }
  return true;
}

}  // namespace kvorum::server::gateway
