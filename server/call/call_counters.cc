#include "server/call/call_counters.h"

#include <chrono>

#include "base/logging.h"

namespace kvorum::server {
namespace {

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

CallCounters::CallCounters(std::size_t methods) : rows_(std::make_unique<Counters[]>(methods)) {}

void CallCounters::Ended(std::uint32_t method, Code code) {
  Row(method).by_code[static_cast<std::size_t>(code)].fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t CallCounters::started(std::uint32_t method) const {
  return rows_[method].started.load(std::memory_order_relaxed);
}

std::uint64_t CallCounters::ended(std::uint32_t method, Code code) const {
  return rows_[method].by_code[static_cast<std::size_t>(code)].load(std::memory_order_relaxed);
}

void ObserveCalls(rpc::Router& router, CallCounters& counters, Duration slow) {
  router.SetStartHook(
      [&counters](rpc::CallContext& call) { counters.Started(call.method()->index); });
  router.SetEndHook([&counters, slow](const rpc::CallContext& call, const rpc::CallEnd& end) {
    const rpc::MethodInfo& method = *call.method();
    counters.Ended(method.index, end.code);
    if (method.kind != rpc::MethodKind::kUnary || end.duration <= slow) return;
    KV_WARN("request stats", {"time spent", Seconds(end.duration)}, {"remote", call.peer()},
            {"response type", method.path}, {"request size", end.received_bytes},
            {"response size", end.sent_bytes}, {"code", static_cast<int>(end.code)},
            {"error", end.message});
  });
}

}  // namespace kvorum::server
