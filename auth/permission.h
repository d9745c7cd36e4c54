// A permission of a role: what may be done with the keys of a range. range_end is the API's
// (base/key_range.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/key_range.h"

namespace kvorum::auth {

inline constexpr std::string_view kRootUser = "root";
inline constexpr std::string_view kRootRole = "root";

// Numbers on the wire. A request may carry any other number, which permits nothing.
enum class PermissionType : std::int32_t { kRead = 0, kWrite = 1, kReadWrite = 2 };

constexpr bool AllowsRead(PermissionType type) {
  return type == PermissionType::kRead || type == PermissionType::kReadWrite;
}
constexpr bool AllowsWrite(PermissionType type) {
  return type == PermissionType::kWrite || type == PermissionType::kReadWrite;
}

struct Permission {
  PermissionType type = PermissionType::kRead;
  std::string key;
  std::string range_end;

  friend bool operator==(const Permission&, const Permission&) = default;
};

// True if the range may be granted: it has a key, and does not end at or before it.
constexpr bool IsValidRange(std::string_view key, std::string_view range_end) {
  return !key.empty() && (range_end.empty() || IsOpenEnd(range_end) || key < range_end);
}

}  // namespace kvorum::auth
