// Raft's events as log lines. Events that a peer causes with single messages are logged once a
// second for each kind and peer, with the number left out: a flood of messages must not cause a
// flood of lines.
//
// Threading: used by the raft executor only. Bounded: it remembers 256 pairs of kind and peer.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "proto/raft_types.h"

namespace kvorum::raft {
enum class EventType : std::uint8_t;
struct Event;
}  // namespace kvorum::raft

namespace kvorum::server {

class EventLog {
 public:
  void Write(const std::vector<raft::Event>& events, TimePoint now);
  std::uint64_t suppressed() const { return suppressed_; }

 private:
  struct Last {
    TimePoint at;
    std::uint64_t left_out = 0;
  };

  std::map<std::pair<raft::EventType, raft::MemberId>, Last> last_;
  std::uint64_t suppressed_ = 0;
};

}  // namespace kvorum::server
