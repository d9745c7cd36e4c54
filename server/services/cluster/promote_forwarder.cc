#include "server/services/cluster/promote_forwarder.h"

#include <algorithm>
#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/api_errors.h"
#include "base/log/logging.h"
#include "server/replica/recovery/joining.h"

namespace kvorum::server {
namespace {

constexpr unsigned kPromoted = 200;
constexpr unsigned kInternalError = 500;
constexpr Duration kRetry = std::chrono::milliseconds(100);
constexpr Duration kPatience = std::chrono::seconds(2);  // with one leader

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

MembershipView ViewOf(std::vector<Member> members) {
  MembershipView view;
  for (Member& each : members) view.members.emplace(each.id, std::move(each));
  return view;
}

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
    const auto view = membership_.View();
    const auto member = view->members.find(id);
    const bool was_learner = member != view->members.end() && member->second.is_learner;
    Try({.id = id, .deadline = deadline, .was_learner = was_learner}, std::move(callback));
  });
}

void PromoteForwarder::Try(Promotion promotion, Callback callback) {
  const TimePoint now = executor_.clock().Now();
  const raft::MemberId leader = replica_.leader();
  if (now >= promotion.deadline)
    return callback(leader == raft::kNone ? kErrNoLeader.Fail() : kErrTimeout.Fail());
  if (leader == membership_.self()) return callback(kErrNotLeader.Fail());
  const auto view = membership_.View();
  if (const auto member = view->members.find(leader); member != view->members.end()) {
    if (auto answer = AskLeader(member->second, promotion); answer.has_value())
      return callback(*std::move(answer));
  }
  // No leader yet, or another one soon.
  executor_.PostAt(executor_.clock().Now() + kRetry,
                   [this, promotion, callback = std::move(callback)]() mutable {
                     Try(promotion, std::move(callback));
                   });
}

std::optional<Result<MembershipView>> PromoteForwarder::AskLeader(const Member& leader,
                                                                  Promotion& promotion) {
  for (const std::string& url : leader.peer_urls) {
    const Duration left = promotion.deadline - executor_.clock().Now();
    if (left <= Duration::zero()) break;
    const auto answer =
        requester_.Ask("POST", url, "/members/promote/" + std::to_string(promotion.id.value()),
                       std::min(left, kPatience));
    if (!answer.has_value()) {
      KV_WARN("failed to reach the leader", {"error", answer.error().message});
      promotion.is_repeated = true;
      continue;
    }
    if (answer->status == kPromoted) {
      auto members = DecodeMembersJson(answer->body);
      if (!members.has_value()) return std::unexpected(std::move(members).error());
      return ViewOf(*std::move(members));
    }
    auto error = PromoteErrorOf(answer->status, answer->body);
    if (!error.has_value()) continue;
    if (promotion.was_learner && promotion.is_repeated && *error == kErrMemberNotLearner) {
      auto cluster = FetchCluster(requester_, {url}, std::min(left, kPatience));
      if (cluster.has_value()) return ViewOf(std::move(cluster->members));
    }
    return std::unexpected(*std::move(error));
  }
  return std::nullopt;
}

}  // namespace kvorum::server
