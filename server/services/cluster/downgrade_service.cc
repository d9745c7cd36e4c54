#include "server/services/cluster/downgrade_service.h"

#include <memory>
#include <utility>

#include "base/api_errors.h"
#include "base/log/logging.h"
#include "mvcc/store/store.h"
#include "server/call/method_registrar.h"
#include "server/call/proposer.h"
#include "server/call/reads.h"
#include "server/call/request_batcher.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

using Answered = std::move_only_function<void(Result<void>)>;

class DowngradeWaiter final : public Waiter {
 public:
  explicit DowngradeWaiter(Answered answered) : answered_(std::move(answered)) {}
  void Applied(ApplyResult result) override {
    if (!result.value.has_value()) return answered_(std::unexpected(result.value.error()));
    answered_({});
  }
  void Failed(const Error& error) override { answered_(std::unexpected(error)); }

 private:
  Answered answered_;
};

}  // namespace

void DowngradeService::Register(MethodRegistrar& methods) {
  methods.Add(api::kDowngrade, this, &DowngradeService::Downgrade);
}

void DowngradeService::Downgrade(const rpc::CallContext& call, Received<DowngradeRequest> request,
                                 Reply<std::string> reply) {
  const DowngradeAction action = request.request.action;
  if (action < DowngradeAction::kValidate || action > DowngradeAction::kCancel)
    return reply.Fail({Code::kUnknown, "etcdserver: unknown method"});
  Version target;
  if (action != DowngradeAction::kCancel) {
    const auto parsed = ParseDowngradeTarget(request.request.version);
    if (!parsed.has_value()) return reply.Fail(parsed.error());
    target = *parsed;
  }
  rpc::Loop* const loop = call.loop();
  reads_.batcher.Read(loop, [this, loop, action, target,
                             reply = std::move(reply)](const Result<void>& confirmed) mutable {
    if (!confirmed.has_value()) return reply.Fail(confirmed.error());
    const auto change = Decide(action, target);
    if (!change.has_value()) {
      KV_WARN("reject downgrade request", {"error", change.error().message});
      return reply.Fail(change.error());
    }
    if (!change->has_value()) return Answer(reply);
    Change(loop, **change, std::move(reply));
  });
}

Result<std::optional<DowngradeInfo>> DowngradeService::Decide(DowngradeAction action,
                                                              Version target) const {
  const auto view = reads_.cluster.membership.View();
  if (action == DowngradeAction::kCancel) {
    if (view->downgrade.enabled) return DowngradeInfo{};
    // etcd's answer is a success as well: there is none afterwards.
    KV_WARN("failed to cancel downgrade", {"error", kErrNoInflightDowngrade.message});
    return std::nullopt;
  }
  const auto version = Version::Parse(view->cluster_version);
  if (!version.has_value()) return kErrClusterVersionUnavailable.Fail();
  if (!IsDowngrade(*version, target)) return kErrInvalidDowngradeTarget.Fail();
  if (view->downgrade.enabled) return kErrDowngradeInProcess.Fail();
  if (action == DowngradeAction::kValidate) return std::nullopt;
  return DowngradeInfo{.enabled = true, .target_version = target.text()};
}

void DowngradeService::Change(rpc::Loop* loop, const DowngradeInfo& to, Reply<std::string> reply) {
  auto answered = [this, reply = std::move(reply)](const Result<void>& changed) mutable {
    if (!changed.has_value()) return reply.Fail(changed.error());
    Answer(reply);
  };
  proposer_.Propose(loop, RequestKind::kDowngradeInfoSet, EncodeDowngradeEntry(to),
                    std::make_unique<DowngradeWaiter>(std::move(answered)),
                    reads_.limits.request_timeout);
}

void DowngradeService::Answer(Reply<std::string>& reply) const {
  reply.Send(reads_.cluster.Header(reads_.store.revision()),
             std::string(reads_.cluster.membership.View()->cluster_version));
}

}  // namespace kvorum::server
