#include "server/service_context.h"

#include "server/errors.h"
#include "server/reply_waiter.h"

namespace kvorum::server {
namespace {

// How far the applied index may stay behind the commit index before new writes are refused.
constexpr raft::Index kMaxGapEntries = 5'000;

}  // namespace

void ServiceContext::Use(Instance& of) {
  replica = &of.replica();
  store = &of.store();
  membership = &of.membership();
  alarms = &of.alarms();
  quota = &of.quota();
  leases = &of.leases();
  lease_expiry = &of.lease_expiry();
  instance = &of;
  ids = &of.ids();
  cluster_id = of.cluster_id();
  member_id = of.member_id();
}

void ServiceContext::Propose(rpc::Loop* loop, RequestKind kind, std::string_view body,
                             std::unique_ptr<Waiter> waiter, Duration timeout) {
  if (replica->commit_index() > replica->applied_index() + kMaxGapEntries) {
    waiter->Failed(kTooManyRequests.ToError());
    return;
  }
  const std::uint64_t id = ids->Next();
  SharedBytes data = EncodeInternalRequest(id, kind, body);
  if (data.size() > limits.max_request_bytes) {
    waiter->Failed(kRequestTooLarge.ToError());
    return;
  }
  const TimePoint now = loop != nullptr ? loop->now() : replica->clock().Now();
  batcher->Propose(loop, Proposal{.id = id,
                                  .data = std::move(data),
                                  .deadline = now + timeout,
                                  .waiter = std::move(waiter)});
}

bool ServiceContext::RefusedForSpace(rpc::Loop* loop, std::uint64_t cost_bytes,
                                     rpc::UnaryReply& reply) {
  if (cost_bytes == 0) return false;
  if (quota->Fits(cost_bytes) && instance->DiskTakesWrites()) return false;
  if (alarms->Stands(AlarmType::kNoSpace)) {
    reply.Fail(kNoSpace.ToError());
    return true;
  }
  const AlarmRequest raise{.action = AlarmAction::kActivate,
                           .alarm = {.member = member_id, .type = AlarmType::kNoSpace}};
  Propose(loop, RequestKind::kAlarm, EncodeAlarmRequest(raise),
          std::make_unique<RefuseWaiter>(std::move(reply), kNoSpace), limits.request_timeout);
  return true;
}

}  // namespace kvorum::server
