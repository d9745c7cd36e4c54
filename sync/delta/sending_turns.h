// Which streams of a control plane may send: while too much is being sent, the others wait for
// their turn in order. For the plane's executor.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace kvorum::sync {

class SendingTurns {
 public:
  explicit SendingTurns(std::size_t limit_bytes) : limit_bytes_(limit_bytes) {}

  // True if it may send now; otherwise it is given a turn later.
  bool Ask(std::uint64_t stream) {
    if (bytes_ < limit_bytes_) return true;
    if (std::ranges::find(waiting_, stream) == waiting_.end()) waiting_.push_back(stream);
    return false;
  }
  void Begin(std::size_t bytes) { bytes_ += bytes; }
  void End(std::size_t bytes) { bytes_ -= bytes; }
  void Forget(std::uint64_t stream) { std::erase(waiting_, stream); }
  // The stream that has waited longest, if it may send now.
  std::optional<std::uint64_t> Next() {
    if (bytes_ >= limit_bytes_ || waiting_.empty()) return std::nullopt;
    const std::uint64_t stream = waiting_.front();
    waiting_.pop_front();
    return stream;
  }

 private:
  const std::size_t limit_bytes_;
  std::size_t bytes_ = 0;
  std::deque<std::uint64_t> waiting_;  // at most the plane's streams
};

}  // namespace kvorum::sync
