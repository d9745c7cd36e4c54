// Look-ups go side by side, step by step, so that they wait for memory together; this many at most.
#pragma once

#include <cstddef>

namespace kvorum::mvcc {

// The processor has fewer loads under way at a time.
inline constexpr std::size_t kMostAhead = 16;

}  // namespace kvorum::mvcc
