// How many look-ups go side by side, step by step, so that they wait for memory together.
#pragma once

#include <cstddef>

namespace kvorum::mvcc {

// More than the processor has loads under way at a time.
inline constexpr std::size_t kMostAhead = 16;

}  // namespace kvorum::mvcc
