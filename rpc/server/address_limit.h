// Counts the open connections of each client address and says which one is too many.
//
// Thread-safe: an acceptor takes places, and any loop gives them back. Memory: an entry for each
// address that has an open connection, which the server's bound of connections bounds. An address
// is a peer's text without its port, so that an IPv4 address counts as the same one over
// both families ("127.0.0.1:5123" is how an accepted "::ffff:127.0.0.1" reads, rpc/tls/socket.h).
// A unix socket's peer has no address and is never too many.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace kvorum::rpc {

class AddressLimit {
  struct Counts {
    std::uint32_t served = 0;
    std::uint32_t refused = 0;
  };
  struct HashOfText : std::hash<std::string_view> {
    using is_transparent = void;
  };
  using Entry = std::pair<const std::string, Counts>;

 public:
  // The refused connections of one address that are answered at a time. They stay until the client
  // has read that, so without a bound they would be what the limit is to prevent.
  static constexpr std::uint32_t kMostRefused = 16;

  enum class Verdict : std::uint8_t {
    kServe,
    kRefuse,  // an answer says why, and waits for its reader
    kDrop,    // closed at once
  };

  // A connection's place; it is given back by the destructor. Outlived by the limit.
  class Place {
   public:
    Place() = default;
    Place(Place&& other) noexcept
        : limit_(std::exchange(other.limit_, nullptr)),
          entry_(other.entry_),
          verdict_(other.verdict_) {}
    Place& operator=(Place&& other) noexcept {
      std::swap(limit_, other.limit_);
      std::swap(entry_, other.entry_);
      std::swap(verdict_, other.verdict_);
      return *this;
    }
    ~Place() { GiveBack(); }

    Verdict verdict() const { return verdict_; }
    void GiveBack();

   private:
    friend class AddressLimit;
    AddressLimit* limit_ = nullptr;  // null: nothing is counted
    Entry* entry_ = nullptr;         // stays where it is while others come and go
    Verdict verdict_ = Verdict::kServe;
  };

  // 0: every connection is served.
  explicit AddressLimit(std::uint32_t most) : most_(most) {}

  // For a connection of this peer: "127.0.0.1:5123", "[::1]:5123", "@".
  Place Take(std::string_view peer);
  std::size_t addresses() const;

 private:
  const std::uint32_t most_;
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Counts, HashOfText, std::equal_to<>> entries_;
};

}  // namespace kvorum::rpc
