// Logs peers' nonsense messages: the first one of each sender, then one line a minute with their
// number.
//
// Threading: used by the raft executor only. Bounded: it remembers 64 senders.
#pragma once

#include <cstdint>
#include <map>

#include "base/clock.h"
#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::server {

class RefusalLog {
 public:
  static constexpr Duration kPause = std::chrono::minutes(1);
  static constexpr std::size_t kMaxSenders = 64;

  // Returns true if a line was written.
  bool Refused(raft::MemberId from, const Error& error, TimePoint now);

 private:
  struct Sender {
    std::uint64_t count = 0;
    TimePoint logged;
  };
  std::map<raft::MemberId, Sender> senders_;
};

}  // namespace kvorum::server
