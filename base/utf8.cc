#include "base/utf8.h"

namespace kvorum {

std::size_t Utf8SequenceLength(std::string_view text) {
  if (text.empty()) return 0;
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  std::size_t length = 0;
  unsigned second_min = 0x80;  // the range of the second byte, where the first one narrows it
  unsigned second_max = 0xbf;
  if (first >= 0xc2 && first <= 0xdf) {
    length = 2;
  } else if (first >= 0xe0 && first <= 0xef) {
    length = 3;
    if (first == 0xe0) second_min = 0xa0;
    if (first == 0xed) second_max = 0x9f;
  } else if (first >= 0xf0 && first <= 0xf4) {
    length = 4;
    if (first == 0xf0) second_min = 0x90;
    if (first == 0xf4) second_max = 0x8f;
  } else {
    return 0;
  }
  if (text.size() < length || byte(1) < second_min || byte(1) > second_max) return 0;
  for (std::size_t i = 2; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  return length;
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = Utf8SequenceLength(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

Utf8Character ReadUtf8(std::string_view text) {
  const std::size_t length = Utf8SequenceLength(text);
  if (length == 0) return {};
  const auto lead = static_cast<unsigned char>(text.front());
  char32_t c = length == 1 ? lead : lead & (0x7fU >> length);
  for (const char next : text.substr(1, length - 1))
    c = c << 6U | (static_cast<unsigned char>(next) & 0x3fU);
  return {.code_point = c, .size_bytes = length, .valid = true};
}

void AppendUtf8(char32_t c, std::string& out) {
  const auto tail = [&](unsigned shift) {
    out.push_back(static_cast<char>(0x80U | ((c >> shift) & 0x3fU)));
  };
  if (c < 0x80) {
    out.push_back(static_cast<char>(c));
  } else if (c < 0x800) {
    out.push_back(static_cast<char>(0xc0U | (c >> 6U)));
    tail(0);
  } else if (c < 0x10000) {
    out.push_back(static_cast<char>(0xe0U | (c >> 12U)));
    tail(6);
    tail(0);
  } else {
    out.push_back(static_cast<char>(0xf0U | (c >> 18U)));
    tail(12);
    tail(6);
    tail(0);
  }
}

}  // namespace kvorum
