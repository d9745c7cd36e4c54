#include "tools/mirror/mirror_path.h"

#include "base/text/percent.h"

namespace kvorum::ctl {
namespace {

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
    } else {
      AppendPercentEscape(text, c);
    }
  }
  return text;
}

Result<std::string> UnescapePath(std::string_view text) {
  std::string path;
  while (!text.empty()) {
    const bool is_plain = IsPlain(text.front());
    const auto byte = is_plain ? text.front() : PercentEscapeAt(text);
    if (!byte) return Refuse("is not an escaped path");
    path += *byte;
    text.remove_prefix(is_plain ? 1 : kPercentEscapeBytes);
  }
  return path;
}

}  // namespace kvorum::ctl
