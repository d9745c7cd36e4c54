// Finds the heads of HTTP/2 frames in a client's bytes, in any portions, for frames that nghttp2
// ignores silently. A few nanoseconds per frame of any size; no allocation. Copied to go
// over the same bytes again. Used by one thread at a time.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvorum::rpc {

class FrameHeads {
 public:
  // Visits (type, stream id) of each frame whose head ends in these bytes.
  template <class Visitor>
  void Scan(std::string_view bytes, Visitor&& visit) {
    while (!bytes.empty()) {
      if (skip_bytes_ > 0) {
        const std::size_t skipped = std::min(skip_bytes_, bytes.size());
        skip_bytes_ -= skipped;
        bytes.remove_prefix(skipped);
        continue;
      }
      head_[head_bytes_++] = static_cast<std::uint8_t>(bytes.front());
      bytes.remove_prefix(1);
      if (head_bytes_ < head_.size()) continue;
      head_bytes_ = 0;
      const auto byte = [&](std::size_t i) { return std::uint32_t{head_[i]}; };
      skip_bytes_ = byte(0) << 16 | byte(1) << 8 | byte(2);
      visit(head_[3], static_cast<std::int32_t>((byte(5) & 0x7f) << 24 | byte(6) << 16 |
                                                byte(7) << 8 | byte(8)));
    }
  }

 private:
  static constexpr std::size_t kPrefaceBytes = 24;

  std::size_t skip_bytes_ = kPrefaceBytes;
  std::size_t head_bytes_ = 0;
  std::array<std::uint8_t, 9> head_{};
};

}  // namespace kvorum::rpc
