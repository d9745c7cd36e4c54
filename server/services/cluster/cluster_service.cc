#include "server/services/cluster/cluster_service.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "api/member_id.h"
#include "base/api_errors.h"
#include "base/log/logging.h"
#include "base/net/url.h"
#include "server/call/member_patches.h"
#include "server/call/method_registrar.h"
#include "server/call/proposer.h"
#include "server/call/reads.h"
#include "server/call/request_batcher.h"
#include "server/replica/drive/replica.h"
#include "server/replica/drive/request_id.h"
#include "server/services/cluster/promote_forwarder.h"
#include "server/services/cluster/strict_reconfig.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

Connections ConnectionsOf(const ClusterFacts& cluster) {
  return {.self = cluster.member_id, .transport = &cluster.transport, .now = cluster.Now()};
}

// Answers with the members after a change.
class MembersWaiter final : public Waiter {
 public:
  explicit MembersWaiter(ClusterService::MembersCallback callback)
      : callback_(std::move(callback)) {}
  void Applied(ApplyResult result) override {
    if (!result.value.has_value()) return callback_(std::unexpected(result.value.error()));
    callback_(std::get<MembershipResult>(*result.value).view);
  }
  void Failed(const Error& error) override { callback_(std::unexpected(error)); }

 private:
  ClusterService::MembersCallback callback_;
};

}  // namespace

void ClusterService::Register(MethodRegistrar& methods) {
  methods.Add(api::kMemberAdd, this, &ClusterService::MemberAdd);
  methods.Add(api::kMemberRemove, this, &ClusterService::MemberRemove);
  methods.Add(api::kMemberUpdate, this, &ClusterService::MemberUpdate);
  methods.Add(api::kMemberPromote, this, &ClusterService::MemberPromote);
  methods.Add(api::kMemberList, this, &ClusterService::MemberList);
}

TimePoint ClusterService::Deadline() const {
  return reads_.cluster.Now() + reads_.limits.request_timeout;
}

// Cluster's headers carry no revision.
static ClusterService::MembersCallback AnswerWithMembers(const ClusterFacts& cluster,
                                                         Reply<Members> reply) {
  return [&cluster, reply = std::move(reply)](Result<Members> members) mutable {
    if (!members.has_value()) return reply.Fail(std::move(members).error());
    reply.Send(cluster.Header(0), *std::move(members));
  };
}

void ClusterService::MemberAdd(const rpc::CallContext& call, Received<MemberRequest> addition,
                               Reply<MemberAddResponse> reply) {
  const auto urls = ParseUrlList(addition.request.peer_urls);
  if (!urls.has_value()) return reply.Fail(kErrMemberBadUrls.ToError());
  Member member;
  for (const Url& url : *urls) member.peer_urls.push_back(url.text());
  // No token: the time distinguishes members with the same URLs.
  member.id = ComputeMemberId(member.peer_urls, "", reads_.cluster.replica.clock().WallSeconds());
  member.is_learner = addition.request.is_learner;
  if (reads_.limits.strict_reconfig_check) {
    if (auto strict = CheckStrictAdd(*reads_.cluster.membership.View(), member,
                                     ConnectionsOf(reads_.cluster));
        !strict.has_value())
      return reply.Fail(std::move(strict).error());
  }
  MemberChange change = MemberChange::Add(member);
  if (member.is_learner) change.max_learners = reads_.limits.max_learners;
  ReadThenChange(call, std::move(change),
                 [this, member = std::move(member),
                  reply = std::move(reply)](Result<Members> members) mutable {
                   if (!members.has_value()) return reply.Fail(std::move(members).error());
                   reply.Send(reads_.cluster.Header(0), {std::move(member), *std::move(members)});
                 });
}

void ClusterService::MemberRemove(const rpc::CallContext& call, Received<raft::MemberId> member,
                                  Reply<Members> reply) {
  const raft::MemberId id = member.request;
  if (reads_.limits.strict_reconfig_check) {
    if (auto strict =
            CheckStrictRemove(*reads_.cluster.membership.View(), id, ConnectionsOf(reads_.cluster));
        !strict.has_value())
      return reply.Fail(std::move(strict).error());
  }
  ReadThenChange(call, MemberChange::Remove(id),
                 AnswerWithMembers(reads_.cluster, std::move(reply)));
}

void ClusterService::MemberUpdate(const rpc::CallContext& call, Received<MemberRequest> update,
                                  Reply<Members> reply) {
  MemberRequest& request = update.request;
  // Kept as received, unlike those of an addition: in their order and spelling.
  ReadThenChange(call, MemberChange::Update(request.id, std::move(request.peer_urls)),
                 AnswerWithMembers(reads_.cluster, std::move(reply)));
}

void ClusterService::MemberPromote(const rpc::CallContext&, Received<raft::MemberId> member,
                                   Reply<Members> reply) {
  Promote(member.request, Deadline(), AnswerWithMembers(reads_.cluster, std::move(reply)));
}

// Only the leader knows the learner's progress.
void ClusterService::Promote(raft::MemberId id, TimePoint deadline, MembersCallback callback) {
  PromoteAsLeader(
      id, deadline,
      [this, id, deadline, callback = std::move(callback)](
          Result<std::shared_ptr<const MembershipView>> members) mutable {
        const bool forward = !members.has_value() && members.error() == kErrNotLeader.ToError() &&
                             promotions_ != nullptr;
        if (!forward) return callback(std::move(members));
        promotions_->Forward(
            id, deadline,
            [this, id, deadline,
             callback = std::move(callback)](Result<MembershipView> forwarded) mutable {
              if (forwarded.has_value()) {
                return callback(std::make_shared<const MembershipView>(*std::move(forwarded)));
              }
              // This member became the leader meanwhile.
              if (forwarded.error() == kErrNotLeader.ToError())
                return Promote(id, deadline, std::move(callback));
              callback(std::unexpected(std::move(forwarded).error()));
            });
      });
}

void ClusterService::PromoteAsLeader(raft::MemberId id, TimePoint deadline,
                                     MembersCallback callback) {
  reads_.cluster.replica.CheckLearner(id, [this, id, deadline, callback = std::move(callback)](
                                              Result<void> ready) mutable {
    if (!ready.has_value()) return callback(std::unexpected(std::move(ready).error()));
    if (reads_.limits.strict_reconfig_check) {
      if (auto strict = CheckStrictPromote(*reads_.cluster.membership.View()); !strict.has_value())
        return callback(std::unexpected(std::move(strict).error()));
    }
    Change(nullptr, MemberChange::Promote(id), deadline, std::move(callback));
  });
}

void ClusterService::MemberList(const rpc::CallContext& call, Received<bool> linearizable,
                                Reply<Members> reply) {
  auto answer = [this](Reply<Members>& to) {
    to.Send(reads_.cluster.Header(0), reads_.cluster.membership.View());
  };
  if (!linearizable.request) return answer(reply);
  reads_.batcher.Read(call.loop(),
                      [answer, reply = std::move(reply)](const Result<void>& confirmed) mutable {
                        if (!confirmed.has_value()) return reply.Fail(confirmed.error());
                        answer(reply);
                      });
}

void ClusterService::ReadThenChange(const rpc::CallContext& call, MemberChange change,
                                    MembersCallback callback) {
  rpc::Loop* const loop = call.loop();
  reads_.batcher.Read(loop,
                      [this, loop, deadline = Deadline(), change = std::move(change),
                       callback = std::move(callback)](const Result<void>& confirmed) mutable {
                        if (!confirmed.has_value())
                          return callback(std::unexpected(confirmed.error()));
                        Change(loop, std::move(change), deadline, std::move(callback));
                      });
}

// An older member of etcd that is asked writes the entry so that all of its kind count the learner
// as a voter, and refuse its promotion, which the others make: their configurations part. Ours is
// written otherwise (Change), and still says for a learner that is promoted meanwhile that it is
// one.
Result<void> ClusterService::CheckUpdate(const MemberChange& change) const {
  const auto view = reads_.cluster.membership.View();
  const auto member = view->members.find(change.id);
  const bool is_learner = member != view->members.end() && member->second.is_learner;
  if (is_learner && reads_.cluster.patches.lose_learners) return kErrLearnerIsLost.Fail();
  return CheckPeerUrls(change.member.peer_urls);
}

void ClusterService::Change(rpc::Loop* loop, MemberChange change, TimePoint deadline,
                            MembersCallback callback) {
  const auto view = reads_.cluster.membership.View();
  auto checked = CheckMemberChange(*view, change);
  if (checked.has_value() && change.type == raft::ConfChangeType::kUpdateNode) {
    // After the rules that etcd has: it takes any URLs.
    checked = CheckUpdate(change);
    // An older etcd takes from the entry whether it is a learner; all others leave that as it is.
    change.member.is_learner =
        reads_.cluster.membership.may_have_older_etcd() && view->members.at(change.id).is_learner;
  }
  if (!checked.has_value()) {
    KV_WARN("rejecting a configuration change", {"member", IdText(change.id)},
            {"error", checked.error().message});
    return callback(std::unexpected(std::move(checked).error()));
  }
  const std::uint64_t id = proposer_.ids().Next();
  reads_.batcher.Propose(
      loop, Proposal{.id = id,
                     .data = SharedBytes::Own(raft::Encode(EncodeMemberChange(id, change))),
                     .deadline = deadline,
                     .waiter = std::make_unique<MembersWaiter>(std::move(callback)),
                     .type = raft::EntryType::kConfChange});
}

}  // namespace kvorum::server
