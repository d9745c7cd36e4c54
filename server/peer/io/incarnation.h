// The incarnation of a member's data directory, as members tell it to each other beside the
// member's id: a member that comes back with another directory, or with an older copy of its
// directory, has lost what it acknowledged (docs/decisions/0053-members-that-lost-data.md). A
// header that etcd's members ignore, and do not send.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/raft_types.h"

namespace kvorum::server {

// In requests and answers under /raft.
inline constexpr std::string_view kIncarnationHeader = "X-Kvorum-Incarnation";
// In the refusal of one that has lost data and does not know it.
inline constexpr std::string_view kDataLostHeader = "X-Kvorum-Data-Lost";

struct Incarnation {
  // The last starts that are remembered: a copy made fewer starts ago is recognised.
  static constexpr std::size_t kRecentStarts = 8;

  std::uint64_t id = 0;               // drawn with the directory
  std::uint64_t starts = 0;           // of a member from it
  std::vector<std::uint64_t> recent;  // drawn with each start; the last one first
  bool lacks_data = false;            // it knows that it lacks what it acknowledged

  // "<id> <starts> <recent>,<recent>… [lacking]", numbers in hex.
  std::string Text() const;
  static std::optional<Incarnation> Parse(std::string_view text);

  friend bool operator==(const Incarnation&, const Incarnation&) = default;
};

// A member remembers this of another one.
struct SeenIncarnation {
  std::uint64_t id = 0;
  std::uint64_t starts = 0;
  std::uint64_t start = 0;  // the last of Incarnation::recent

  static SeenIncarnation Of(const Incarnation& told);
  // True unless `told` is of this directory and not earlier than what was seen. More starts in
  // between than `told` lists prove nothing.
  bool IsAheadOf(const Incarnation& told) const;

  friend bool operator==(const SeenIncarnation&, const SeenIncarnation&) = default;
};

// A member's own incarnation, and its judgement of others'. Thread-safe; no call waits.
class IncarnationGuard {
 public:
  virtual ~IncarnationGuard() = default;
  // The header's value.
  virtual std::string Own() const = 0;
  // The source of an incarnation: anybody may write a member's headers into a request.
  enum class Told : std::uint8_t {
    kByItsUrl,   // the answer of a connection to the member's own URL, or a caller with a
                 // certificate
    kByACaller,  // a request without one
  };
  // A peer tells its incarnation, or none. Returns false if it has lost data and does not know it:
  // nothing may be heard from it. What a caller tells is not remembered.
  virtual bool Admits(raft::MemberId peer, std::string_view told, Told how) = 0;
  // A peer does not admit us, and tells its own incarnation with that. One that lacks data itself
  // remembers what was, before we were made good perhaps: it does not count.
  virtual void ToldOfLoss(raft::MemberId peer, std::string_view told) = 0;
};

}  // namespace kvorum::server
