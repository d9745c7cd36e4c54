#include "server/call/proposer.h"

#include "api/entries/older_entry.h"
#include "base/api_errors.h"
#include "rpc/io/loop.h"
#include "server/call/access.h"
#include "server/call/admitted_proposal.h"
#include "server/call/apply_gap.h"
#include "server/call/cluster_facts.h"
#include "server/call/request_batcher.h"
#include "server/replica/drive/replica.h"
#include "server/replica/drive/request_id.h"
#include "server/replica/member/local_member.h"
#include "server/state/alarms.h"
#include "server/state/membership.h"
#include "server/state/quota.h"

namespace kvorum::server {
namespace {

bool IsRevocation(std::string_view entry) {
  const auto request = DecodeInternalRequest(entry);
  return request.has_value() && request->kind == RequestKind::kLeaseRevoke;
}

// Refuses a write after any outcome of the alarm.
class RefusalWaiter final : public Waiter {
 public:
  explicit RefusalWaiter(std::move_only_function<void(const Error& error)> refuse)
      : refuse_(std::move(refuse)) {}
  void Applied(ApplyResult) override { refuse_(kErrNoSpace.ToError()); }
  void Failed(const Error&) override { refuse_(kErrNoSpace.ToError()); }

 private:
  std::move_only_function<void(const Error& error)> refuse_;
};

}  // namespace

void Proposer::Propose(rpc::Loop* loop, RequestKind kind, std::string_view body,
                       std::unique_ptr<Waiter> waiter, Duration timeout) {
  const std::uint64_t id = ids().Next();
  const TimePoint now = loop != nullptr ? loop->now() : parts_.cluster.Now();
  SendEntry(loop, kind, id, EncodeInternalRequest(id, kind, body), std::move(waiter),
            now + timeout);
}

void Proposer::ProposeFor(const rpc::Caller& caller, rpc::Loop* loop, RequestKind kind,
                          std::string_view body, std::unique_ptr<AdmittedWaiter> waiter,
                          Duration timeout) {
  std::string rewritten;
  if (parts_.cluster.membership.may_have_older_etcd()) [[unlikely]]
    body = rewritten = Rewrite(kind, body);
  if (parts_.access.is_off()) return Propose(loop, kind, body, std::move(waiter), timeout);
  const TimePoint now = loop != nullptr ? loop->now() : parts_.cluster.Now();
  ProposeAdmitted(*this, loop, caller, {.kind = kind, .body = body}, std::move(waiter),
                  now + timeout);
}

void Proposer::SendEntry(rpc::Loop* loop, RequestKind kind, std::uint64_t id, SharedBytes entry,
                         std::unique_ptr<Waiter> waiter, TimePoint deadline) {
  const raft::Index applied = parts_.cluster.replica.applied_index();
  if (parts_.cluster.replica.commit_index() > applied + kMaxGapEntries) [[unlikely]] {
    const bool may_pass = parts_.limits.revokes_have_priority && IsRevocation(entry.view()) &&
                          parts_.cluster.replica.commit_index() <= applied + kMaxPriorityGapEntries;
    if (!may_pass) return waiter->Failed(kErrTooManyRequests.ToError());
  }
  if (entry.size() > parts_.limits.max_request_bytes)
    return waiter->Failed(kErrRequestTooLarge.ToError());
  parts_.batcher.Propose(loop, Proposal{.id = id,
                                        .data = std::move(entry),
                                        .deadline = deadline,
                                        .waiter = std::move(waiter),
                                        .is_key_write = IsKeyWrite(kind),
                                        .is_repeatable = IsRepeatable(kind)});
}

RequestIdSource& Proposer::ids() { return parts_.member.ids(); }

bool Proposer::HasSpaceFor(std::uint64_t cost_bytes) const {
  return cost_bytes == 0 ||
         (parts_.member.quota().Fits(cost_bytes) && parts_.member.DiskTakesWrites());
}

void Proposer::RefuseForSpace(rpc::Loop* loop,
                              std::move_only_function<void(const Error& error)> refuse) {
  if (parts_.cluster.alarms.Stands(AlarmType::kNoSpace)) return refuse(kErrNoSpace.ToError());
  const AlarmRequest raise{
      .action = AlarmAction::kActivate,
      .alarm = {.member = parts_.cluster.member_id, .type = AlarmType::kNoSpace}};
  Propose(loop, RequestKind::kAlarm, EncodeAlarmRequest(raise),
          std::make_unique<RefusalWaiter>(std::move(refuse)), parts_.limits.request_timeout);
}

}  // namespace kvorum::server
