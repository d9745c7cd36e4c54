#include "server/call/interceptors.h"

#include <chrono>
#include <string>
#include <utility>

#include "base/api_errors.h"
#include "base/check.h"
#include "base/logging.h"
#include "base/utf8.h"
#include "server/call/body_table.h"
#include "server/call/leader_streams.h"
#include "server/messages/kv_decode.h"
#include "server/replica/replica.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kClientApiVersion = "client-api-version";
constexpr std::string_view kRequireLeader = "hasleader";

Result<void> CheckMetadata(const ServiceContext& context, const rpc::CallContext& call) {
  if (const auto version = call.Metadata(kClientApiVersion);
      version.has_value() && !IsValidUtf8(*version)) {
    return kErrInvalidClientApiVersion.Fail();
  }
  if (WantsLeader(call) && context.replica->leader() == raft::kNone) return kErrNoLeader.Fail();
  return {};
}

const BodyRule& BodyRuleOf(const AccessRule& method) {
  const BodyRule* const rule = FindBodyRule(method.service, method.method);
  KV_CHECK(rule != nullptr, "a method that body_table.cc does not know");
  return *rule;
}

// Refuses a call, but for a request that is no message: that comes before any other reason.
void Refuse(rpc::UnaryReply& reply, const BodyRule& body, const SharedBytes& request, Error why) {
  if (auto sound = body.check(request.view()); !sound.has_value()) why = std::move(sound).error();
  reply.Fail(std::move(why));
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

// Whether nobody is asked who they are.
bool IsOpen(const ServiceContext& context, const AccessRule& rule) {
  return rule.check == nullptr || context.access == nullptr || context.access->is_off();
}

Result<void> Ask(const Access& access, const AccessRule& rule, const SharedBytes& request,
                 const auth::AuthState& state, const auth::Identity& identity) {
  return rule.check({.state = state,
                     .identity = identity,
                     .lease_keys = access.lease_keys(),
                     .max_txn_ops = access.max_txn_ops(),
                     .request = request.view()});
}

bool IsAdmitted(const Access& access, const AccessRule& rule, rpc::CallContext& call,
                const SharedBytes& request) {
  return access
      .Admit(call,
             [&](const auth::AuthState& state, const auth::Identity& identity) {
               return Ask(access, rule, request, state, identity);
             })
      .has_value();
}

Access::Check CheckBy(const Access& access, const AccessRule& rule, SharedBytes request) {
  return [&access, &rule, request = std::move(request)](const auth::AuthState& state,
                                                        const auth::Identity& identity) {
    return Ask(access, rule, request, state, identity);
  };
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

const AccessRule& AccessRuleOf(std::string_view service, std::string_view method) {
  const AccessRule* const rule = FindAccessRule(service, method);
  KV_CHECK(rule != nullptr, "a method that access_table.cc does not know");
  return *rule;
}

rpc::UnaryMethod Intercepted(const ServiceContext& context, const AccessRule& rule,
                             rpc::UnaryMethod method, OnLearner on_learner) {
  return [&context, &rule, &body = BodyRuleOf(rule), method = std::move(method), on_learner](
             std::shared_ptr<rpc::CallContext> call, SharedBytes request, rpc::UnaryReply reply) {
    if (!body.handler_reads) {
      if (auto sound = body.check(request.view()); !sound.has_value())
        return reply.Fail(std::move(sound).error());
    }
    if (context.membership->is_learner() && !IsServedByLearner(on_learner, request))
      return Refuse(reply, body, request, kErrNotSupportedForLearner.ToError());
    if (auto allowed = CheckMetadata(context, *call); !allowed.has_value())
      return Refuse(reply, body, request, std::move(allowed).error());
    if (IsOpen(context, rule)) return method(std::move(call), std::move(request), std::move(reply));
    if (IsAdmitted(*context.access, rule, *call, request))
      return method(std::move(call), std::move(request), std::move(reply));
    context.access->AdmitUpToDate(
        call, CheckBy(*context.access, rule, request),
        [&method, &body, call, request, reply = std::move(reply)](Result<void> admitted) mutable {
          if (!admitted.has_value())
            return Refuse(reply, body, request, std::move(admitted).error());
          method(std::move(call), std::move(request), std::move(reply));
        });
  };
}

rpc::StreamMethod Intercepted(const ServiceContext& context, const AccessRule& rule,
                              rpc::StreamMethod method) {
  return [&context, &rule, method = std::move(method)](std::shared_ptr<rpc::ServerStream> stream) {
    if (context.membership->is_learner()) {
      return stream->Finish(kErrNotSupportedForLearner.ToError());
    }
    if (const auto allowed = CheckMetadata(context, stream->context()); !allowed.has_value()) {
      return stream->Finish(allowed.error());
    }
    if (context.leader_streams != nullptr && WantsLeader(stream->context()))
      context.leader_streams->Add(stream);
    if (IsOpen(context, rule)) return method(std::move(stream));
    if (IsAdmitted(*context.access, rule, stream->context(), {})) return method(std::move(stream));
    context.access->AdmitUpToDate({stream, &stream->context()}, CheckBy(*context.access, rule, {}),
                                  [&method, stream](Result<void> admitted) mutable {
                                    if (!admitted.has_value())
                                      return stream->Finish(std::move(admitted).error());
                                    method(std::move(stream));
                                  });
  };
}

void AddStream(rpc::Router& router, const ServiceContext& context, std::string_view service,
               std::string_view name, rpc::MethodKind kind, rpc::StreamMethod method) {
  router.AddStream(service, name, kind,
                   Intercepted(context, AccessRuleOf(service, name), std::move(method)));
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
