// Forwards a promotion to the leader, which alone knows a learner's progress: POST
// /members/promote/<id> on its peer port.
//
// A leader that does not answer is given 2 s: then the request is repeated, perhaps to the next
// one. What became of it meanwhile is seen by the learner: a voter is then reported as promoted.
//
// Forward may be called from any thread; requests are made one after another on the executor, which
// each may block for as long as it takes.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "base/task.h"
#include "server/peer/transport/peer_request.h"
#include "server/replica/drive/replica.h"
#include "server/state/membership.h"

namespace kvorum::server {

// Both ends of the wire: the answer to a refusal, and the meaning of such an answer. The texts are
// those that members of etcd exchange.
unsigned PromoteStatusOf(const Error& error);
std::string PromoteTextOf(const Error& error);
// nullopt for an answer that says nothing about the learner: worth another attempt.
std::optional<Error> PromoteErrorOf(unsigned status, std::string_view text);

class PromoteForwarder {
 public:
  // The leader's members after the promotion. kErrNotLeader: this member leads now.
  using Callback = std::move_only_function<void(Result<MembershipView> members)>;

  PromoteForwarder(Executor& executor, PeerRequester& requester, Replica& replica,
                   Membership& membership);
  void Forward(raft::MemberId id, TimePoint deadline, Callback callback);

 private:
  struct Promotion {
    raft::MemberId id = raft::kNone;
    TimePoint deadline;
    bool was_learner = false;  // as far as this member knows
    bool is_repeated = false;  // a leader that did not answer may have done it
  };
  void Try(Promotion promotion, Callback callback);
  // nullopt: worth another attempt.
  std::optional<Result<MembershipView>> AskLeader(const Member& leader, Promotion& promotion);

  Executor& executor_;
  PeerRequester& requester_;
  Replica& replica_;
  Membership& membership_;
};

}  // namespace kvorum::server
