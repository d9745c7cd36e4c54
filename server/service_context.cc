#include "server/service_context.h"

#include "server/errors.h"

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

}  // namespace kvorum::server
