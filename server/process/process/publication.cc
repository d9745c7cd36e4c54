#include "server/process/process/publication.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

#include "api/member_id.h"
#include "base/failpoint/failpoint.h"
#include "base/log/logging.h"
#include "base/net/url.h"
#include "server/apply/wait_table.h"
#include "server/call/cluster_facts.h"
#include "server/call/proposer.h"
#include "server/peer/codec/transport.h"
#include "server/process/settings/options.h"
#include "server/replica/drive/replica.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

constexpr Duration kRetry = std::chrono::milliseconds(500);
constexpr Duration kStatePoll = std::chrono::milliseconds(5);
// One of the others may be down.
constexpr Duration kPeersPatience = std::chrono::milliseconds(300);

// Calls back with the outcome of an entry that no client waits for.
class CallbackWaiter final : public Waiter {
 public:
  explicit CallbackWaiter(std::move_only_function<void(bool applied)> callback)
      : callback_(std::move(callback)) {}
  void Applied(ApplyResult result) override { callback_(result.value.has_value()); }
  void Failed(const Error&) override { callback_(false); }

 private:
  std::move_only_function<void(bool)> callback_;
};

}  // namespace

Publication::Publication(const Options& options, Proposer& proposer, Executor& control,
                         std::function<void()> done)
    : options_(options), proposer_(proposer), control_(control), done_(std::move(done)) {}

void Publication::Start() {
  control_.Post([this] { Publish(); });
}

void Publication::Publish() {
  KV_FAILPOINT("beforePublishing");
  auto attempt = std::make_shared<Attempt>();
  attempt->attributes = {
      .member = proposer_.cluster().member_id, .name = options_.name, .client_urls = {}};
  const auto urls = ParseUrls(options_.advertise_client_urls);
  for (const Url& url : *urls) attempt->attributes.client_urls.push_back(url.text());
  attempt->was_known = IsKnown(attempt->attributes);
  proposer_.Propose(nullptr, RequestKind::kMemberAttributesSet,
                    EncodeMemberAttributes(attempt->attributes),
                    std::make_unique<CallbackWaiter>([this, attempt](bool applied) {
                      control_.Post([this, attempt, applied] { Decided(attempt, applied); });
                    }),
                    options_.RequestTimeout());
  // A name that was known before says nothing about this proposal.
  if (!attempt->was_known) LookForIt(attempt);
}

void Publication::Decided(const std::shared_ptr<Attempt>& attempt, bool applied) {
  if (std::exchange(attempt->is_over, true)) return;
  if (applied) return WaitForClusterVersion();
  control_.PostAt(control_.clock().Now() + kRetry, [this] { Publish(); });
}

void Publication::LookForIt(const std::shared_ptr<Attempt>& attempt) {
  if (attempt->is_over) return;
  // The log of the last start may bring the name back, long before its proposal of today.
  if (proposer_.cluster().replica.status().is_past_start() && IsKnown(attempt->attributes))
    return Decided(attempt, true);
  control_.PostAt(control_.clock().Now() + kStatePoll, [this, attempt] { LookForIt(attempt); });
}

bool Publication::IsKnown(const MemberAttributes& attributes) const {
  const auto view = proposer_.cluster().membership.View();
  const auto self = view->members.find(attributes.member);
  return self != view->members.end() && self->second.name == attributes.name &&
         self->second.client_urls == attributes.client_urls;
}

void Publication::WaitForClusterVersion() {
  if (proposer_.cluster().membership.View()->cluster_version.empty()) {
    control_.PostAt(control_.clock().Now() + kStatePoll, [this] { WaitForClusterVersion(); });
    return;
  }
  KV_INFO("published local member to cluster through raft",
          {"local-member-id", IdText(proposer_.cluster().member_id)},
          {"local-member-attributes", options_.advertise_client_urls},
          {"cluster-id", IdText(proposer_.cluster().cluster_id)});
  WaitForPeers(control_.clock().Now() + kPeersPatience);
}

void Publication::WaitForPeers(TimePoint until) {
  if (ArePeersConnected() || control_.clock().Now() >= until) return done_();
  control_.PostAt(control_.clock().Now() + kStatePoll, [this, until] { WaitForPeers(until); });
}

bool Publication::ArePeersConnected() const {
  const auto view = proposer_.cluster().membership.View();
  return std::ranges::all_of(view->members, [&](const auto& item) {
    return item.first == proposer_.cluster().member_id ||
           proposer_.cluster().transport.ActiveSince(item.first).has_value();
  });
}

}  // namespace kvorum::server
