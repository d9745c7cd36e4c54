#include "server/services/promote_forwarder.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>

#include "base/api_errors.h"
#include "base/logging.h"
#include "server/replica/joining.h"

namespace kvorum::server {
namespace {

constexpr unsigned kPromoted = 200;
constexpr unsigned kInternalError = 500;
constexpr Duration kRetry = std::chrono::milliseconds(100);

struct Refusal {
  ApiError error;
  unsigned status;
  std::string_view text;
};

// The last one is ours: a leader of etcd's answers only that something went wrong.
constexpr std::array kRefusals = {
    Refusal{kErrMemberNotFound, 404, "membership: ID not found"},
    Refusal{kErrLearnerNotReady, 412, kErrLearnerNotReady.message},
    Refusal{kErrMemberNotLearner, 412, "membership: can only promote a learner member"},
    Refusal{kErrNotEnoughStarted, 412, kErrNotEnoughStarted.message},
};

}  // namespace

unsigned PromoteStatusOf(const Error& error) {
  for (const Refusal& refusal : kRefusals)
    if (error == refusal.error.ToError()) return refusal.status;
  return kInternalError;
}

std::string PromoteTextOf(const Error& error) {
  for (const Refusal& refusal : kRefusals)
    if (error == refusal.error.ToError()) return std::string(refusal.text);
  return error.message;
}

std::optional<Error> PromoteErrorOf(unsigned status, std::string_view text) {
  for (const Refusal& refusal : kRefusals) {
    if (status != refusal.status) continue;
    if (status == 404 || text.find(refusal.text) != std::string_view::npos)
      return refusal.error.ToError();
  }
  return std::nullopt;
}

PromoteForwarder::PromoteForwarder(Executor& executor, PeerRequester& requester, Replica& replica,
                                   Membership& membership)
    : executor_(executor), requester_(requester), replica_(replica), membership_(membership) {}

void PromoteForwarder::Forward(raft::MemberId id, TimePoint deadline, Callback callback) {
  executor_.Post([this, id, deadline, callback = std::move(callback)]() mutable {
    Try(id, deadline, std::move(callback));
  });
}

void PromoteForwarder::Try(raft::MemberId id, TimePoint deadline, Callback callback) {
  const TimePoint now = executor_.clock().Now();
  const raft::MemberId leader = replica_.leader();
  if (now >= deadline)
    return callback(leader == raft::kNone ? kErrNoLeader.Fail() : kErrTimeout.Fail());
  if (leader == membership_.self()) return callback(kErrNotLeader.Fail());
  const auto view = membership_.View();
  if (const auto member = view->members.find(leader); member != view->members.end()) {
    for (const std::string& url : member->second.peer_urls) {
      const auto answer =
          requester_.Ask("POST", url, "/members/promote/" + std::to_string(id.value()),
                         deadline - executor_.clock().Now());
      if (!answer.has_value()) {
        KV_WARN("failed to reach the leader", {"error", answer.error().message});
        continue;
      }
      if (answer->status == kPromoted) {
        auto members = DecodeMembersJson(answer->body);
        if (!members.has_value()) return callback(std::unexpected(std::move(members).error()));
        MembershipView result;
        for (Member& each : *members) result.members.emplace(each.id, std::move(each));
        return callback(std::move(result));
      }
      if (auto error = PromoteErrorOf(answer->status, answer->body); error.has_value())
        return callback(std::unexpected(*std::move(error)));
    }
  }
  // No leader yet, or another one soon.
  executor_.PostAt(executor_.clock().Now() + kRetry,
                   [this, id, deadline, callback = std::move(callback)]() mutable {
                     Try(id, deadline, std::move(callback));
                   });
}

}  // namespace kvorum::server
