#include "server/call/interceptors.h"

#include <utility>

#include "base/api_errors.h"
#include "base/failpoint/failpoint.h"
#include "base/utf8.h"
#include "server/call/access.h"
#include "server/call/client_versions.h"
#include "server/call/leader_streams.h"
#include "server/call/proposer.h"
#include "server/call/quarantine.h"
#include "server/replica/drive/replica.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

constexpr std::string_view kClientApiVersion = "client-api-version";
constexpr std::string_view kRequireLeader = "hasleader";

bool IsMaintenance(const rpc::CallContext& call) {
  return call.method() != nullptr && call.method()->service == "etcdserverpb.Maintenance";
}

}  // namespace

bool WantsLeader(const rpc::CallContext& call) { return call.Metadata(kRequireLeader) == "true"; }

Result<void> CheckCall(const CallGuard& guard, const rpc::CallContext& call, bool learner_serves) {
  if (guard.tells_status_alone.load(std::memory_order_acquire) && !IsMaintenance(call))
    return kErrNoLeader.Fail();
  if (guard.quarantine.Refuses(call)) return kErrCorrupt.Fail();
  KV_FAILPOINT("afterIsMemberExist");
  if (guard.proposer.cluster().membership.is_learner() && !learner_serves)
    return kErrNotSupportedForLearner.Fail();
  if (const auto version = call.Metadata(kClientApiVersion);
      version.has_value() && !IsValidUtf8(*version)) {
    return kErrInvalidClientApiVersion.Fail();
  } else {
    const bool is_stream =
        call.method() != nullptr && call.method()->kind != rpc::MethodKind::kUnary;
    guard.client_versions.Count(version.value_or("unknown"), is_stream);
  }
  if (WantsLeader(call) && guard.proposer.cluster().replica.leader() == raft::kNone)
    return kErrNoLeader.Fail();
  return {};
}

rpc::StreamMethod Guarded(const CallGuard& guard, const StreamMethod& method,
                          rpc::StreamMethod handler) {
  return [&guard, &method,
          handler = std::move(handler)](std::shared_ptr<rpc::ServerStream> stream) {
    rpc::CallContext& call = stream->context();
    if (auto allowed = CheckCall(guard, call, method.learner_serves); !allowed.has_value())
      return stream->Finish(std::move(allowed).error());
    guard.quarantine.Watch(stream);
    if (WantsLeader(call)) guard.leader_streams.Add(stream);
    if (method.admits == nullptr || guard.access.is_off()) return handler(std::move(stream));
    const Access& access = guard.access;
    const auto judge = [&method](const Asker& asker) { return method.admits(asker); };
    if (access.Admit(call, judge).has_value()) return handler(std::move(stream));
    access.AdmitUpToDate({stream, &call}, judge, [&handler, stream](Result<void> admitted) mutable {
      if (!admitted.has_value()) return stream->Finish(std::move(admitted).error());
      handler(std::move(stream));
    });
  };
}

}  // namespace kvorum::server
