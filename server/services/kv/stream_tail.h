// The small bytes of a stream's messages, gathered until they are sent together.
//
// Reserves as many bytes as were gathered the last time, so that they need not grow step by step,
// and keeps no memory in between: a server may have 100,000 streams. Used by one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

#include "base/shared_bytes.h"

namespace kvorum::server {

class StreamTail {
 public:
  // The most that is reserved before it is needed.
  static constexpr std::size_t kMostReservedBytes = 16 * 1024;

  // The string to append to, until Take.
  std::string& Open() {
    if (bytes_.empty()) bytes_.reserve(reserve_bytes_);
    return bytes_;
  }
  bool empty() const { return bytes_.empty(); }
  std::size_t held_bytes() const { return bytes_.capacity(); }

  struct Taken {
    SharedBytes bytes;
    std::size_t kept_bytes = 0;  // of memory, at most a quarter more than the bytes
  };
  Taken Take() {
    reserve_bytes_ = static_cast<std::uint32_t>(std::min(bytes_.size(), kMostReservedBytes));
    std::string bytes = std::exchange(bytes_, std::string());
    const std::size_t kept_bytes = bytes.capacity();
    if (kept_bytes - bytes.size() > bytes.size() / 4)
      return {.bytes = SharedBytes::Copy(bytes), .kept_bytes = bytes.size()};
    return {.bytes = SharedBytes::Own(std::move(bytes)), .kept_bytes = kept_bytes};
  }
  void Drop() { std::string().swap(bytes_); }  // an assignment would keep the memory

 private:
  std::string bytes_;
  std::uint32_t reserve_bytes_ = 0;
};

}  // namespace kvorum::server
