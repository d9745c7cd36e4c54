// Requests that a member itself puts into the log, in no user's name: alarms, automatic
// compactions.
//
// Thread-safe.
#pragma once

#include <functional>
#include <string_view>

#include "api/entries/request_kind.h"
#include "base/clock.h"
#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::server {

class Replica;
class RequestIdSource;

class OwnRequests {
 public:
  OwnRequests(Replica& replica, RequestIdSource& ids) : replica_(replica), ids_(ids) {}

  // The outcome; runs on any thread and must not block. Exactly once, also when the member stops.
  using Done = std::move_only_function<void(Result<void> outcome)>;
  // With `only_in_term` not 0 only this member as the leader of that term may propose it.
  void Propose(RequestKind kind, std::string_view body, Duration timeout, Done done,
               raft::Term only_in_term = 0);

 private:
  Replica& replica_;
  RequestIdSource& ids_;
};

}  // namespace kvorum::server
