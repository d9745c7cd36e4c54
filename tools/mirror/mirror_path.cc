#include "tools/mirror/mirror_path.h"

#include <charconv>

namespace kvorum::ctl {
namespace {

constexpr std::string_view kHexDigits = "0123456789ABCDEF";

bool IsPlain(char c) { return c > ' ' && c < '\x7f' && c != '%'; }

std::unexpected<Error> Refuse(std::string why) {
  return Fail(Code::kInvalidArgument, std::move(why));
}

}  // namespace

Result<std::string> MirrorPath(std::string_view rest_of_key) {
  if (rest_of_key.empty()) return Refuse("is the prefix itself");
  if (rest_of_key.find('\0') != std::string_view::npos) return Refuse("has a zero byte");
  if (rest_of_key.size() > kMaxPathBytes)
    return Refuse("has more than " + std::to_string(kMaxPathBytes) + " bytes");
  bool is_first = true;
  for (std::string_view rest = rest_of_key;;) {
    const std::size_t slash = rest.find('/');
    const std::string_view part = rest.substr(0, slash);
    if (part.empty()) return Refuse("has an empty part");
    if (part == "." || part == "..") return Refuse("has the part '" + std::string(part) + "'");
    if (part.size() > kMaxNameBytes)
      return Refuse("has a part of more than " + std::to_string(kMaxNameBytes) + " bytes");
    if (is_first && part == kMirrorOwn)
      return Refuse("has the name of the mirror's own folder, " + std::string(kMirrorOwn));
    if (slash == std::string_view::npos) return std::string(rest_of_key);
    rest.remove_prefix(slash + 1);
    is_first = false;
  }
}

std::string_view FolderOf(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string EscapePath(std::string_view path) {
  std::string text;
  for (const char c : path) {
    if (IsPlain(c)) {
      text += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    text += '%';
    text += kHexDigits[byte >> 4U];
    text += kHexDigits[byte & 15U];
  }
  return text;
}

Result<std::string> UnescapePath(std::string_view text) {
  std::string path;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (IsPlain(text[i])) {
      path += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    unsigned byte = 0;
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (text[i] != '%' || digits.size() != 2 || error != std::errc() ||
        end != digits.data() + digits.size())
      return Refuse("is not an escaped path");
    path += static_cast<char>(byte);
    i += 2;
  }
  return path;
}

}  // namespace kvorum::ctl
