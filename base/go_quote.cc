#include "base/go_quote.h"

#include <fmt/format.h>

#include "base/utf8.h"

namespace kvorum {

std::string GoQuote(std::string_view text) {
  std::string quoted = "\"";
  for (std::size_t i = 0; i < text.size();) {
    const char c = text[i];
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80) {
      if (const std::size_t length = Utf8SequenceLength(text.substr(i)); length > 0) {
        quoted.append(text.substr(i, length));
        i += length;
        continue;
      }
    }
    ++i;
    constexpr std::string_view kEscaped = "\"\\\a\b\f\n\r\t\v";
    constexpr std::string_view kLetters = "\"\\abfnrtv";
    if (const std::size_t at = kEscaped.find(c); at != std::string_view::npos) {
      quoted.push_back('\\');
      quoted.push_back(kLetters[at]);
    } else if (byte < 0x20 || byte >= 0x7f) {
      quoted.append(fmt::format("\\x{:02x}", byte));
    } else {
      quoted.push_back(c);
    }
  }
  quoted.push_back('"');
  return quoted;
}

}  // namespace kvorum
