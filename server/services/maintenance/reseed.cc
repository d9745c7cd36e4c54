#include "server/services/maintenance/reseed.h"

#include <cstddef>
#include <memory>
#include <utility>

#include "api/alarm.h"
#include "api/member_id.h"
#include "base/api_errors.h"
#include "base/log/logging.h"
#include "base/majority.h"
#include "server/call/cluster_header.h"
#include "server/call/proposer.h"
#include "server/call/quarantine.h"
#include "server/call/reads.h"
#include "server/peer/codec/transport.h"
#include "server/replica/drive/replica.h"
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

// By the connections that there are. The member itself is one of those that are heard.
Result<void> CheckMajorityBeside(const ClusterFacts& cluster, raft::MemberId member) {
  const auto members = cluster.membership.View();
  std::size_t voters = 0;
  std::size_t beside = 0;
  std::size_t heard = 0;
  for (const auto& [id, each] : members->members) {
    if (each.is_learner) continue;
    ++voters;
    if (id == member) continue;
    ++beside;
    if (id == cluster.member_id || cluster.transport.ActiveSince(id).has_value()) ++heard;
  }
  const std::size_t majority = Majority(voters);
  if (beside < majority)
    return Fail(
        Code::kFailedPrecondition,
        "etcdserver: a member of a cluster of two cannot be re-seeded; remove it and add it "
        "anew");
  if (heard < majority)
    return Fail(Code::kUnavailable, "the leader hears from no majority beside that member");
  return {};
}

}  // namespace

void SendFreshSnapshot(Proposer& proposer, const Quarantine& quarantine, raft::MemberId to,
                       std::function<void(Result<void> begun)> done) {
  if (quarantine.stands() || quarantine.is_damaged())
    return done(Fail(Code::kFailedPrecondition,
                     "etcdserver: the leader's own database is damaged; move the leadership to a "
                     "healthy member first"));
  if (auto checked = CheckMajorityBeside(proposer.cluster(), to); !checked.has_value())
    return done(std::move(checked));
  proposer.cluster().replica.HoldForSnapshot(to, [&proposer, to, done = std::move(done)](
                                                     const Result<bool>& held) mutable {
    if (!held.has_value()) return done(std::unexpected(held.error()));
    if (!*held) return done({});  // the one that is under way
    // An entry that changes nothing, on members of any program.
    proposer.Propose(nullptr, RequestKind::kAlarm, EncodeAlarmRequest({}),
                     std::make_unique<EntryWaiter>(proposer.cluster().replica, to, std::move(done)),
                     proposer.limits().request_timeout);
  });
}

void Reseeder::Reseed(TimePoint deadline, Done done) {
  executor_.Post([this, deadline, done = std::move(done)]() mutable {
    waiting_.push_back({.deadline = deadline, .done = std::move(done)});
    if (waiting_.size() > 1) return;
    KV_INFO("re-seeding this member from its leader");
    epoch_ = reads_.store.history_sum().epoch();
    ask_at_ = executor_.clock().Now();
    Look();
  });
}

void Reseeder::EndLate(TimePoint now) {
  for (Waiting& each : waiting_) {
    if (now >= each.deadline) each.done(kErrTimeout.Fail());
  }
  std::erase_if(waiting_, [now](const Waiting& each) { return now >= each.deadline; });
}

void Reseeder::EndAll(const Result<void>& outcome) {
  for (Waiting& each : std::exchange(waiting_, {})) each.done(outcome);
}

void Reseeder::Look() {
  const bool is_out = quarantine_.stands();
  const bool is_new = reads_.store.history_sum().epoch() != epoch_;
  // The check notices the new database, too, and lets this member serve.
  if (is_new && !is_out) return EndAll({});
  const TimePoint now = executor_.clock().Now();
  EndLate(now);
  if (waiting_.empty()) return;
  if (!is_new && now >= ask_at_) {
    ask_at_ = now + kAskAgain;
    if (const auto asked = AskLeader(); !asked.has_value()) {
      if (asked.error().code == Code::kFailedPrecondition) return EndAll(asked);
      KV_WARN("cannot ask the leader for a snapshot", {"error", asked.error().message});
      ask_at_ = now + std::chrono::seconds(1);
    }
  }
  executor_.PostAt(executor_.clock().Now() + kLook, [this] { Look(); });
}

Result<void> Reseeder::AskLeader() {
  const raft::MemberId leader = reads_.cluster.replica.leader();
  if (leader == reads_.cluster.member_id) {
    // A leader that is kept from serving hands over by itself.
    if (quarantine_.stands()) return Fail(kErrNoLeader.ToError());
    return Fail(Code::kFailedPrecondition,
                "etcdserver: this member leads; move the leadership to a healthy member first");
  }
  const auto members = reads_.cluster.membership.View();
  const auto found = members->members.find(leader);
  if (found == members->members.end()) return Fail(kErrNoLeader.ToError());
  const std::string path = std::string(kReseedPrefix) + IdText(reads_.cluster.member_id);
  const PeerQuestion question{.method = "POST",
                              .path = path,
                              .headers = ClusterIdLine(reads_.cluster.cluster_id),
                              .body = {}};
  Result<PeerAnswer> answer = Fail(kErrNoLeader.ToError());
  for (const std::string& url : found->second.peer_urls) {
    answer = peers_.Ask(question, url, kAnswerTimeout);
    if (answer.has_value()) break;
  }
  if (!answer.has_value()) return std::unexpected(std::move(answer).error());
  if (answer->status == 200) return {};
  if (answer->status == 404) {
    return Fail(Code::kFailedPrecondition,
                "etcdserver: the leader cannot re-seed members; move the leadership to a kvorum");
  }
  std::string reason = std::move(answer->body);
  while (reason.ends_with('\n')) reason.pop_back();
  return Fail(answer->status == 412 ? Code::kFailedPrecondition : Code::kUnavailable,
              std::move(reason));
}

}  // namespace kvorum::server
