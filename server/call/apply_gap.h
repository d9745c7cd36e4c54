// The bound of entries that are committed and not applied: past it writes are refused, so that what
// waits stays bounded however slow applying is.
#pragma once

#include <cstdint>

namespace kvorum::server {

inline constexpr std::uint64_t kMaxGapEntries = 5'000;
// That of revocations of leases, with the feature gate PriorityRequest.
inline constexpr std::uint64_t kMaxPriorityGapEntries = 2 * kMaxGapEntries;

}  // namespace kvorum::server
