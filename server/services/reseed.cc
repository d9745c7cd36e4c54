#include "server/services/reseed.h"

#include <memory>
#include <utility>

#include "base/api_errors.h"
#include "base/logging.h"
#include "server/call/quarantine.h"
#include "server/messages/alarm.h"
#include "server/messages/member_id.h"
#include "server/replica/replica.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

constexpr Duration kLook = std::chrono::milliseconds(100);
// A snapshot that did not begin, or broke off, is asked for again.
constexpr Duration kAskAgain = std::chrono::seconds(20);
constexpr Duration kAnswerTimeout = std::chrono::seconds(10);

// Sends the snapshot behind the entry that it waits for.
class EntryWaiter final : public Waiter {
 public:
  EntryWaiter(Replica& replica, raft::MemberId to, std::function<void(Result<void>)> done)
      : replica_(replica), to_(to), done_(std::move(done)) {}

  void Applied(ApplyResult) override {
    replica_.SendHeldSnapshot(to_);
    done_({});
  }
  void Failed(const Error& error) override {
    replica_.SnapshotSent(to_, false);
    done_(std::unexpected(error));
  }

 private:
  Replica& replica_;
  const raft::MemberId to_;
  const std::function<void(Result<void>)> done_;
};

}  // namespace

void SendFreshSnapshot(ServiceContext& context, raft::MemberId to,
                       std::function<void(Result<void> begun)> done) {
  context.replica->HoldForSnapshot(
      to, [&context, to, done = std::move(done)](Result<void> held) mutable {
        if (!held.has_value()) return done(std::move(held));
        // An entry that changes nothing, on members of any program.
        context.Propose(nullptr, RequestKind::kAlarm, EncodeAlarmRequest({}),
                        std::make_unique<EntryWaiter>(*context.replica, to, std::move(done)),
                        context.limits.request_timeout);
      });
}

void Reseeder::Reseed(TimePoint deadline, Done done) {
  executor_.Post([this, deadline, done = std::move(done)]() mutable {
    KV_INFO("re-seeding this member from its leader");
    Look({.epoch = context_.store->history_sum().epoch(),
          .deadline = deadline,
          .ask_at = executor_.clock().Now(),
          .done = std::move(done)});
  });
}

void Reseeder::Look(Attempt attempt) {
  const bool is_out = context_.quarantine != nullptr && context_.quarantine->stands();
  if (context_.store->history_sum().epoch() != attempt.epoch) {
    // The check notices the new database, too, and lets this member serve.
    if (!is_out) return attempt.done({});
    attempt.ask_at = attempt.deadline;
  }
  const TimePoint now = executor_.clock().Now();
  if (now >= attempt.deadline) return attempt.done(kErrTimeout.Fail());
  if (now >= attempt.ask_at) {
    attempt.ask_at = now + kAskAgain;
    if (const auto asked = AskLeader(); !asked.has_value()) {
      if (asked.error().code == Code::kFailedPrecondition)
        return attempt.done(std::unexpected(asked.error()));
      KV_WARN("cannot ask the leader for a snapshot", {"error", asked.error().message});
      attempt.ask_at = now + std::chrono::seconds(1);
    }
  }
  executor_.PostAt(executor_.clock().Now() + kLook,
                   [this, attempt = std::move(attempt)]() mutable { Look(std::move(attempt)); });
}

Result<void> Reseeder::AskLeader() {
  const raft::MemberId leader = context_.replica->leader();
  if (leader == context_.member_id) {
    return Fail(Code::kFailedPrecondition,
                "etcdserver: this member leads; move the leadership to a healthy member first");
  }
  const auto members = context_.membership->View();
  const auto found = members->members.find(leader);
  if (found == members->members.end()) return Fail(kErrNoLeader.ToError());
  Result<PeerAnswer> answer = Fail(kErrNoLeader.ToError());
  for (const std::string& url : found->second.peer_urls) {
    answer = peers_.Ask("POST", url, std::string(kReseedPrefix) + IdText(context_.member_id),
                        kAnswerTimeout);
    if (answer.has_value()) break;
  }
  if (!answer.has_value()) return std::unexpected(std::move(answer).error());
  if (answer->status == 200) return {};
  if (answer->status == 404) {
    return Fail(Code::kFailedPrecondition,
                "etcdserver: the leader cannot re-seed members; move the leadership to a kvorum");
  }
  return Fail(Code::kUnavailable, answer->body);
}

}  // namespace kvorum::server
