#include "server/call/call_counters.h"

#include <algorithm>
#include <chrono>
#include <utility>

namespace kvorum::server {
void CallCounters::TimeAll() {
  // Those of Go's client library, unless others are chosen.
  const std::vector<double> bounds{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10};
  for (std::size_t i = 0; i < methods_; ++i) times_.push_back(std::make_unique<Histogram>(bounds));
}

// The name in etcd's log entries, where it is another one.
void CallCounters::TimeRequests(const rpc::MethodInfo& method) {
  requests_.resize(std::max<std::size_t>(requests_.size(), method.index + 1));
  auto times = std::make_unique<RequestTimes>();
  const bool is_of_auth = method.name.starts_with("User") || method.name.starts_with("Role");
  times->type = method.name == "Compact" ? "Compaction" : (is_of_auth ? "Auth" : "") + method.name;
  requests_[method.index] = std::move(times);
}

void CallCounters::StreamMessages(std::uint32_t method, std::uint64_t received,
                                  std::uint64_t sent) {
  ThreadCells::Mine mine = cells_.Here();
  mine.Add(Cell(method, kReceived), received);
  mine.Add(Cell(method, kSent), sent);
}

void ObserveCalls(rpc::Router& router, CallCounters& counters, SlowWrites& writes,
                  SlowCalls::Limits limits) {
  router.SetStartHook(
      [&counters](rpc::CallContext& call) { counters.Started(call.method()->index); });
  router.SetStreamHook(
      [&counters](const rpc::MethodInfo& method, std::uint64_t received, std::uint64_t sent) {
        counters.StreamMessages(method.index, received, sent);
      });
  for (const auto& method : router.methods()) {
    const rpc::MethodInfo& info = method->info;
    const bool goes_through_log = info.service == "etcdserverpb.KV" ||
                                  info.service == "etcdserverpb.Auth" ||
                                  info.service == "etcdserverpb.Lease" || info.name == "Alarm";
    if (goes_through_log && info.kind == rpc::MethodKind::kUnary) counters.TimeRequests(info);
  }
  const rpc::Router::Method* const range = router.Find("/etcdserverpb.KV/Range");
  const rpc::MethodInfo* const range_info = range == nullptr ? nullptr : &range->info;
  router.SetEndHook([&counters, &writes, slow = SlowCalls(limits), range_info](
                        const rpc::CallContext& call, const rpc::CallEnd& end) {
    const rpc::MethodInfo& method = *call.method();
    counters.Ended(method.index, end.code);
    counters.Took(method.index, end.duration);
    counters.RequestEnded(method.index, end);
    if (&method == range_info) counters.RangeTook(end);
    if (method.kind == rpc::MethodKind::kUnary) slow.OnEnd(call, end);
    writes.OnEnd(call, end);
  });
}

}  // namespace kvorum::server
