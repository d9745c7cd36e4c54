// Sends a promotion on to the leader, which alone knows how far a learner has come: POST
// /members/promote/<id> on its peer port.
//
// Forward may be called from any thread; requests are made one after another on the executor, which
// they may keep busy for as long as a request takes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/executor.h"
#include "server/peer/peer_request.h"
#include "server/replica/replica.h"
#include "server/state/membership.h"

namespace kvorum::server {

// Both ends of the wire: what a refusal is answered with, and what such an answer means. The texts
// are those that members of etcd exchange.
unsigned PromoteStatusOf(const Error& error);
std::string PromoteTextOf(const Error& error);
// Nullopt for an answer that says nothing about the learner: worth another attempt.
std::optional<Error> PromoteErrorOf(unsigned status, std::string_view text);

class PromoteForwarder {
 public:
  // The members as the leader had them behind the promotion. kErrNotLeader: this member leads now.
  using Callback = std::move_only_function<void(Result<MembershipView> members)>;

  PromoteForwarder(Executor& executor, PeerRequester& requester, Replica& replica,
                   Membership& membership);
  void Forward(raft::MemberId id, TimePoint deadline, Callback callback);

 private:
  void Try(raft::MemberId id, TimePoint deadline, Callback callback);

  Executor& executor_;
  PeerRequester& requester_;
  Replica& replica_;
  Membership& membership_;
};

}  // namespace kvorum::server
