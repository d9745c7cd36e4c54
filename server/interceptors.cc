#include "server/interceptors.h"

#include <chrono>
#include <string>
#include <utility>

#include "base/logging.h"
#include "base/utf8.h"
#include "server/errors.h"
#include "server/kv_decode.h"
#include "server/leader_streams.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kClientApiVersion = "client-api-version";
constexpr std::string_view kRequireLeader = "hasleader";

Result<void> CheckMetadata(const ServiceContext& context, const rpc::CallContext& call) {
  if (const auto version = call.Metadata(kClientApiVersion);
      version.has_value() && !IsValidUtf8(*version)) {
    return kInvalidClientApiVersion.Fail();
  }
  if (WantsLeader(call) && context.replica->leader() == raft::kNone) return kNoLeader.Fail();
  return {};
}

bool IsServedByLearner(OnLearner rule, const SharedBytes& request) {
  switch (rule) {
    case OnLearner::kRefused:
      return false;
    case OnLearner::kServed:
      return true;
    case OnLearner::kSerializableRange: {
      const auto range = DecodeRange(request.view());
      return !range.has_value() || range->serializable;  // what is malformed is told so
    }
  }
  return false;
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

}  // namespace

bool WantsLeader(const rpc::CallContext& call) { return call.Metadata(kRequireLeader) == "true"; }

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

rpc::UnaryMethod Intercepted(const ServiceContext& context, rpc::UnaryMethod method,
                             OnLearner on_learner) {
  return [&context, method = std::move(method), on_learner](
             std::shared_ptr<rpc::CallContext> call, SharedBytes request, rpc::UnaryReply reply) {
    if (context.membership->is_learner() && !IsServedByLearner(on_learner, request)) {
      return reply.Fail(kNotSupportedForLearner.ToError());
    }
    if (const auto allowed = CheckMetadata(context, *call); !allowed.has_value()) {
      return reply.Fail(allowed.error());
    }
    method(std::move(call), std::move(request), std::move(reply));
  };
}

rpc::StreamMethod Intercepted(const ServiceContext& context, rpc::StreamMethod method) {
  return [&context, method = std::move(method)](std::shared_ptr<rpc::ServerStream> stream) {
    if (context.membership->is_learner()) {
      return stream->Finish(kNotSupportedForLearner.ToError());
    }
    if (const auto allowed = CheckMetadata(context, stream->context()); !allowed.has_value()) {
      return stream->Finish(allowed.error());
    }
    if (context.leader_streams != nullptr && WantsLeader(stream->context()))
      context.leader_streams->Add(stream);
    method(std::move(stream));
  };
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
