// Messages of peers that were nonsense, in the log: the first one of each sender, then one line a
// minute with how many there were.
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

  // True if a line was written.
  bool Refused(raft::MemberId from, const Error& error, TimePoint now);

 private:
  struct Sender {
    std::uint64_t count = 0;
    TimePoint logged;
  };
  std::map<raft::MemberId, Sender> senders_;
};

}  // namespace kvorum::server
