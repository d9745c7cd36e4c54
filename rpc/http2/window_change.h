// Checks a change of the initial window that a client's SETTINGS ask for: with it no stream's
// window may exceed 2^31-1 bytes (RFC 9113, section 6.9.2). nghttp2 would only reset the streams.
//
// Used by one thread: Begin and Add before the change takes effect, Fits after.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace kvorum::rpc {

class WindowChange {
 public:
  void Begin(std::uint32_t initial_bytes) {
    initial_bytes_ = initial_bytes;
    widest_bytes_ = 0;
  }
  // The bytes that may be sent on an open stream.
  void Add(std::int32_t window_bytes) {
    widest_bytes_ = std::max<std::int64_t>(widest_bytes_, window_bytes);
  }
  bool Fits(std::uint32_t new_initial_bytes) const {
    return widest_bytes_ + new_initial_bytes - initial_bytes_ <=
           std::numeric_limits<std::int32_t>::max();
  }

 private:
  std::int64_t widest_bytes_ = 0;
  std::int64_t initial_bytes_ = 0;
};

}  // namespace kvorum::rpc
