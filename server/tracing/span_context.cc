#include "server/tracing/span_context.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace kvorum::server::tracing {
namespace {

constexpr std::size_t kMaxStateMembers = 32;
constexpr std::size_t kMaxStateValue = 256;
constexpr std::uint8_t kInvalidVersion = 0xff;

// Splits off what stands before the next delimiter; all of it if there is none.
std::string_view Cut(std::string_view& text, char delimiter) {
  const std::size_t at = text.find(delimiter);
  const std::string_view part = text.substr(0, at);
  text = at == std::string_view::npos ? std::string_view() : text.substr(at + 1);
  return part;
}

std::optional<std::uint8_t> HexDigit(char c) {
  if (c >= '0' && c <= '9') return static_cast<std::uint8_t>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<std::uint8_t>(c - 'a' + 10);
  return std::nullopt;
}

bool CutHex(std::string_view& text, std::span<std::uint8_t> bytes) {
  const std::string_view part = Cut(text, '-');
  if (part.size() != 2 * bytes.size()) return false;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    const auto high = HexDigit(part[2 * i]);
    const auto low = HexDigit(part[2 * i + 1]);
    if (!high.has_value() || !low.has_value()) return false;
    bytes[i] = static_cast<std::uint8_t>(*high << 4 | *low);
  }
  return true;
}

bool IsZero(std::span<const std::uint8_t> bytes) {
  return std::ranges::all_of(bytes, [](std::uint8_t byte) { return byte == 0; });
}

bool IsLetter(char c) { return c >= 'a' && c <= 'z'; }
bool IsLetterOrDigit(char c) { return IsLetter(c) || (c >= '0' && c <= '9'); }

bool IsKeyRest(std::string_view text, std::size_t most) {
  return text.size() <= most && std::ranges::all_of(text, [](char c) {
           return IsLetterOrDigit(c) || c == '_' || c == '-' || c == '*' || c == '/';
         });
}

// `name`, or `tenant@system`.
bool IsStateKey(std::string_view key) {
  const auto is_name = [](std::string_view name, std::size_t most_rest) {
    return !name.empty() && IsLetter(name.front()) && IsKeyRest(name.substr(1), most_rest);
  };
  const std::size_t at = key.find('@');
  if (at == std::string_view::npos) return is_name(key, 255);
  const std::string_view tenant = key.substr(0, at);
  return !tenant.empty() && IsLetterOrDigit(tenant.front()) && IsKeyRest(tenant.substr(1), 240) &&
         is_name(key.substr(at + 1), 13);
}

bool IsStateValue(std::string_view value) {
  return !value.empty() && value.size() <= kMaxStateValue && value.back() != ' ' &&
         std::ranges::all_of(value,
                             [](char c) { return c >= ' ' && c <= '~' && c != ',' && c != '='; });
}

std::string_view TrimLeft(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
}
std::string_view TrimRight(std::string_view text) {
  const std::size_t last = text.find_last_not_of(" \t");
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

}  // namespace

std::optional<SpanContext> ParseParent(std::string_view traceparent, std::string_view tracestate) {
  std::uint8_t version = 0;
  SpanContext parent;
  std::uint8_t flags = 0;
  std::string_view left = traceparent;
  if (!CutHex(left, {&version, 1}) || version == kInvalidVersion) return std::nullopt;
  if (!CutHex(left, parent.trace_id) || !CutHex(left, parent.span_id) || !CutHex(left, {&flags, 1}))
    return std::nullopt;
  // Later versions may add parts and flags.
  constexpr std::uint8_t kKnownFlags = kSampledFlag | kRandomFlag;
  if (version == 0 && (!left.empty() || flags > kKnownFlags)) return std::nullopt;
  if (IsZero(parent.trace_id) || IsZero(parent.span_id)) return std::nullopt;
  parent.flags = flags & kKnownFlags;
  parent.state = ParseTraceState(tracestate);
  return parent;
}

std::string ParseTraceState(std::string_view text) {
  std::vector<std::string_view> keys;
  std::string list;
  while (!text.empty()) {
    const std::string_view member = Cut(text, ',');
    if (member.empty()) continue;
    const std::size_t equals = member.find('=');
    if (equals == std::string_view::npos) return {};
    const std::string_view key = TrimLeft(member.substr(0, equals));
    const std::string_view value = TrimRight(member.substr(equals + 1));
    if (!IsStateKey(key) || !IsStateValue(value)) return {};
    if (keys.size() == kMaxStateMembers || std::ranges::find(keys, key) != keys.end()) return {};
    keys.push_back(key);
    if (!list.empty()) list += ',';
    list.append(key).append("=").append(value);
  }
  return list;
}

}  // namespace kvorum::server::tracing
