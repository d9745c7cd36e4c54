// Frequent requests from one member to another beside Raft's messages: posts to the peer port over
// kept-alive connections. (PeerRequester is for the rare ones.)
#pragma once

#include <functional>
#include <string>

#include "base/clock.h"
#include "base/error.h"
#include "base/shared_bytes.h"
#include "proto/raft_types.h"

namespace kvorum::server {

class PeerPoster {
 public:
  struct Answer {
    unsigned status = 0;
    std::string body;
  };
  using Done = std::move_only_function<void(Result<Answer> answer)>;

  virtual ~PeerPoster() = default;
  // Any thread. `done` runs on a thread that must not be blocked, never within the call.
  // kUnavailable: no member of this id is known, too many requests wait, or no answer came in time;
  // the other member may have acted on the request.
  virtual void Post(raft::MemberId to, std::string path, SharedBytes body, Duration timeout,
                    Done done) = 0;
};

}  // namespace kvorum::server
