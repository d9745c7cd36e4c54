#include "base/base64.h"

#include <array>

namespace kvorum {
namespace {

constexpr std::string_view kStandardLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::string_view kUrlLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::uint8_t kNone = 64;

constexpr std::array<std::uint8_t, 256> Invert(std::string_view letters) {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNone);
  for (std::size_t i = 0; i < letters.size(); ++i)
    values[static_cast<unsigned char>(letters[i])] = static_cast<std::uint8_t>(i);
  return values;
}
constexpr auto kStandardValues = Invert(kStandardLetters);
constexpr auto kUrlValues = Invert(kUrlLetters);

// Padded.
void Append(std::string& out, std::string_view letters, std::string_view bytes) {
  const auto byte = [bytes](std::size_t at) -> std::uint32_t {
    return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0;
  };
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::uint32_t bits = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    const std::size_t left = bytes.size() - i;
    const char group[] = {letters[bits >> 18], letters[bits >> 12 & 63],
                          left > 1 ? letters[bits >> 6 & 63] : '=',
                          left > 2 ? letters[bits & 63] : '='};
    out.append(group, sizeof(group));
  }
}

}  // namespace

void AppendBase64(std::string& out, std::string_view bytes) {
  Append(out, kStandardLetters, bytes);
}

std::string EncodeBase64(Base64 spelling, std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  Append(text, spelling == Base64::kUrl ? kUrlLetters : kStandardLetters, bytes);
  if (spelling != Base64::kStandard) text.resize(text.find_last_not_of('=') + 1);
  return text;
}

std::expected<std::string, Base64Fault> DecodeBase64(Base64 spelling, std::string_view text) {
  std::string joined;
  if (spelling == Base64::kStandard && text.find_first_of("\r\n") != text.npos) {
    joined = text;
    std::erase_if(joined, [](char letter) { return letter == '\r' || letter == '\n'; });
    text = joined;
  }
  const bool is_whole = text.size() % 4 == 0;
  if (spelling == Base64::kStandard && !is_whole) return std::unexpected(Base64Fault{text.size()});
  if (spelling != Base64::kUrl && is_whole)
    for (int i = 0; i < 2 && text.ends_with('='); ++i) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::unexpected(Base64Fault{text.size()});
  const auto& values = spelling == Base64::kUrl ? kUrlValues : kStandardValues;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  std::uint32_t bits = 0;
  int bit_count = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::uint8_t value = values[static_cast<unsigned char>(text[at])];
    if (value == kNone) return std::unexpected(Base64Fault{at});
    bits = bits << 6 | value;
    bit_count += 6;
    if (bit_count < 8) continue;
    bit_count -= 8;
    bytes += static_cast<char>(bits >> bit_count & 0xff);
  }
  if (spelling == Base64::kUrl && (bits & ((1U << bit_count) - 1)) != 0)
    return std::unexpected(Base64Fault{text.size()});
  return bytes;
}

}  // namespace kvorum
