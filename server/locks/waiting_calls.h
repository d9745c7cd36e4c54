// The number of calls waiting for a lock or an election at this member, and their memory.
// Thread-safe. The limit outlives its places.
#pragma once

#include <atomic>
#include <cstddef>
#include <optional>
#include <utility>

namespace kvorum::server {

class WaitingCalls {
 public:
  struct Limits {
    std::size_t calls = 100'000;
    std::size_t bytes = std::size_t{256} << 20;
  };

  // Released when it is destroyed.
  class Place {
   public:
    Place(Place&& other) noexcept
        : calls_(std::exchange(other.calls_, nullptr)), bytes_(other.bytes_) {}
    Place& operator=(Place&&) = delete;
    ~Place() {
      if (calls_ != nullptr) calls_->Leave(bytes_);
    }

   private:
    friend class WaitingCalls;
    Place(WaitingCalls& calls, std::size_t bytes) : calls_(&calls), bytes_(bytes) {}
    WaitingCalls* calls_;
    std::size_t bytes_;
  };

  explicit WaitingCalls(Limits limits) : limits_(limits) {}

  // nullopt if there is no room for a call of so many bytes.
  std::optional<Place> Enter(std::size_t bytes) {
    const bool fits = 1 + calls_.fetch_add(1, std::memory_order_relaxed) <= limits_.calls;
    const bool has_room =
        bytes + bytes_.fetch_add(bytes, std::memory_order_relaxed) <= limits_.bytes;
    Place place(*this, bytes);
    if (fits && has_room) return place;
    return std::nullopt;
  }
  const Limits& limits() const { return limits_; }
  std::size_t calls() const { return calls_.load(std::memory_order_relaxed); }
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  void Leave(std::size_t bytes) {
    calls_.fetch_sub(1, std::memory_order_relaxed);
    bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  }

  const Limits limits_;
  std::atomic<std::size_t> calls_{0};
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace kvorum::server
