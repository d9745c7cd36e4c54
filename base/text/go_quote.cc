#include "base/text/go_quote.h"

#include <locale.h>
#include <wctype.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/utf8.h"

namespace kvorum {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

// Format characters, spaces and private use: the C library considers them printable, Go does not.
constexpr auto kNotPrintable = std::to_array<Range>({
    {0x00a0, 0x00a0},   {0x00ad, 0x00ad},   {0x0600, 0x0605},   {0x061c, 0x061c},
    {0x06dd, 0x06dd},   {0x070f, 0x070f},   {0x0890, 0x0891},   {0x08e2, 0x08e2},
    {0x1680, 0x1680},   {0x180e, 0x180e},   {0x2000, 0x200f},   {0x2028, 0x202f},
    {0x205f, 0x206f},   {0x3000, 0x3000},   {0xd800, 0xf8ff},   {0xfeff, 0xfeff},
    {0xfff9, 0xfffb},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd}, {0x13430, 0x1343f},
    {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0001, 0xe007f}, {0xf0000, 0x10ffff},
});

bool IsPrintable(char32_t c) {
  if (c < 0x80) return c >= 0x20 && c < 0x7f;
  static const locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  const auto excluded = [c](const Range& r) { return c >= r.first && c <= r.last; };
  return iswprint_l(static_cast<wint_t>(c), utf8) != 0 &&
         std::ranges::none_of(kNotPrintable, excluded);
}

struct Escape {
  char letter;
  char byte;
};
constexpr auto kEscapes = std::to_array<Escape>({{'a', '\a'},
                                                 {'b', '\b'},
                                                 {'f', '\f'},
                                                 {'n', '\n'},
                                                 {'r', '\r'},
                                                 {'t', '\t'},
                                                 {'v', '\v'},
                                                 {'\\', '\\'},
                                                 {'"', '"'}});

// The code point of `digits` digits at text[at], or nothing.
std::optional<char32_t> ParseDigits(std::string_view text, std::size_t at, std::size_t digits,
                                    unsigned base) {
  if (at + digits > text.size()) return std::nullopt;
  char32_t value = 0;
  for (const char c : text.substr(at, digits)) {
    unsigned digit = 0;
    if (c >= '0' && c <= '9')
      digit = static_cast<unsigned>(c - '0');
    else if (c >= 'a' && c <= 'f')
      digit = static_cast<unsigned>(c - 'a') + 10;
    else if (c >= 'A' && c <= 'F')
      digit = static_cast<unsigned>(c - 'A') + 10;
    else
      return std::nullopt;
    if (digit >= base) return std::nullopt;
    value = value * base + digit;
  }
  return value;
}

// Reads the escape after a backslash at text[at], appends the character it stands for and returns
// the position after it.
std::optional<std::size_t> ReadEscape(std::string_view text, std::size_t at, std::string& out) {
  if (at >= text.size()) return std::nullopt;
  const char letter = text[at];
  for (const Escape& escape : kEscapes) {
    if (escape.letter != letter) continue;
    out.push_back(escape.byte);
    return at + 1;
  }
  if (letter == 'x' || (letter >= '0' && letter <= '7')) {  // one byte
    const bool hex = letter == 'x';
    const std::size_t start = hex ? at + 1 : at;
    const std::size_t digits = hex ? 2 : 3;
    const auto value = ParseDigits(text, start, digits, hex ? 16 : 8);
    if (!value || *value > 0xff) return std::nullopt;
    out.push_back(static_cast<char>(*value));
    return start + digits;
  }
  if (letter == 'u' || letter == 'U') {  // one character
    const std::size_t digits = letter == 'u' ? 4 : 8;
    const auto value = ParseDigits(text, at + 1, digits, 16);
    if (!value || !IsScalarValue(*value)) return std::nullopt;
    AppendUtf8(*value, out);
    return at + 1 + digits;
  }
  return std::nullopt;
}

void AppendHex(std::string& out, char letter, unsigned digits, std::uint32_t number) {
  out += {'\\', letter};
  while (digits-- > 0) out += "0123456789abcdef"[number >> (4 * digits) & 0xfU];
}

}  // namespace

std::string GoQuote(std::string_view bytes) {
  std::string out = "\"";
  while (!bytes.empty()) {
    const Utf8Character character = ReadUtf8(bytes);
    const std::string_view raw = bytes.substr(0, character.size_bytes);
    bytes.remove_prefix(character.size_bytes);
    const auto escape = std::ranges::find_if(
        kEscapes, [&](const Escape& e) { return raw == std::string_view(&e.byte, 1); });
    if (escape != kEscapes.end()) {
      out += {'\\', escape->letter};
    } else if (!character.valid) {
      AppendHex(out, 'x', 2, static_cast<std::uint8_t>(raw.front()));
    } else if (IsPrintable(character.code_point)) {
      out += raw;
    } else if (character.code_point < 0x80) {
      AppendHex(out, 'x', 2, character.code_point);
    } else if (character.code_point < 0x10000) {
      AppendHex(out, 'u', 4, character.code_point);
    } else {
      AppendHex(out, 'U', 8, character.code_point);
    }
  }
  out += '"';
  return out;
}

std::string GoQuoteCharacter(char c) {
  if (c == '\'') return R"('\'')";
  if (c == '"') return R"('"')";
  // A byte of an argument is taken as the code point with that number.
  std::string text;
  AppendUtf8(static_cast<unsigned char>(c), text);
  std::string quoted = GoQuote(text);
  quoted.front() = '\'';
  quoted.back() = '\'';
  return quoted;
}

std::optional<std::string> GoUnquote(std::string_view literal) {
  if (literal.size() < 2 || literal.front() != literal.back()) return std::nullopt;
  const char quote = literal.front();
  const std::string_view body = literal.substr(1, literal.size() - 2);
  if (quote == '`') {
    if (body.find('`') != std::string_view::npos) return std::nullopt;
    std::string raw(body);
    std::erase(raw, '\r');
    return raw;
  }
  if (quote != '"') return std::nullopt;
  std::string out;
  std::size_t at = 0;
  while (at < body.size()) {
    const char c = body[at];
    if (c == '"' || c == '\n') return std::nullopt;
    if (c == '\\') {
      const auto next = ReadEscape(body, at + 1, out);
      if (!next) return std::nullopt;
      at = *next;
    } else {
      out.push_back(c);
      ++at;
    }
  }
  return out;
}

std::optional<std::size_t> GoQuotedLength(std::string_view text) {
  if (text.empty() || (text.front() != '"' && text.front() != '`')) return std::nullopt;
  const char quote = text.front();
  for (std::size_t at = 1; at < text.size(); ++at) {
    if (text[at] == quote) return at + 1;
    if (quote == '"' && text[at] == '\\') ++at;
  }
  return std::nullopt;
}

}  // namespace kvorum
