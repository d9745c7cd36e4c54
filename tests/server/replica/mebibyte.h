// The unit of sizes in tests of space and memory.
#pragma once

#include <cstdint>

namespace kvorum::server {

inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

}  // namespace kvorum::server
