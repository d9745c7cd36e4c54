#include "server/process/process/version_monitor.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/maintenance_encode.h"
#include "api/version.h"
#include "base/log/logging.h"
#include "server/call/proposer.h"
#include "server/replica/drive/replica.h"
#include "server/replica/upkeep/cluster_version.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

// While no version is decided members wait for it before they serve.
constexpr Duration kUndecidedPause = std::chrono::milliseconds(20);
constexpr Duration kUndecidedTimeout = std::chrono::milliseconds(300);
constexpr Duration kLowPause = std::chrono::seconds(1);
constexpr Duration kPause = std::chrono::seconds(4);

// Continues after any outcome of the proposal.
class OutcomeWaiter final : public Waiter {
 public:
  explicit OutcomeWaiter(Task then) : then_(std::move(then)) {}
  void Applied(ApplyResult) override { then_(); }
  void Failed(const Error& error) override {
    KV_WARN("failed to update the cluster version", {"error", error.message});
    then_();
  }

 private:
  Task then_;
};

}  // namespace

VersionMonitor::VersionMonitor(Executor& executor, PeerRequester& peers, Proposer& proposer,
                               Duration timeout)
    : executor_(executor), peers_(peers), proposer_(proposer), timeout_(timeout) {}

void VersionMonitor::Start() {
  executor_.Post([this] { Look(); });
}

void VersionMonitor::Look() {
  const auto view = proposer_.cluster().membership.View();
  if (proposer_.cluster().replica.leader() != proposer_.cluster().member_id) return LookLater();
  std::vector<Member> others;
  for (const auto& [id, member] : view->members) {
    if (id != proposer_.cluster().member_id) others.push_back(member);
  }
  const bool is_undecided = view->cluster_version.empty();
  const auto versions =
      AskVersions(peers_, others, is_undecided ? std::min(kUndecidedTimeout, timeout_) : timeout_);
  std::vector<std::optional<std::string>> servers = {std::string(kApiVersion)};
  for (const Member& member : others) {
    const auto found = versions.find(member.id);
    servers.push_back(found == versions.end() ? std::nullopt : std::optional(found->second.server));
  }
  const auto version = DecideClusterVersion(view->cluster_version, view->downgrade, servers);
  if (!version.has_value()) return LookLater();
  proposer_.Propose(nullptr, RequestKind::kClusterVersionSet, EncodeClusterVersion(*version),
                    std::make_unique<OutcomeWaiter>([this] { LookLater(); }),
                    proposer_.limits().request_timeout);
}

void VersionMonitor::LookLater() {
  const std::string version = proposer_.cluster().membership.View()->cluster_version;
  const Duration pause = version.empty()              ? kUndecidedPause
                         : version == kClusterVersion ? kPause
                                                      : kLowPause;
  executor_.PostAt(executor_.clock().Now() + pause, [this] { Look(); });
}

}  // namespace kvorum::server
