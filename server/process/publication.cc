#include "server/process/publication.h"

#include <chrono>
#include <memory>
#include <utility>

#include "base/failpoint.h"
#include "base/logging.h"
#include "base/url.h"
#include "server/apply/wait_table.h"
#include "server/call/service_context.h"
#include "server/messages/maintenance_encode.h"
#include "server/messages/member_id.h"
#include "server/process/options.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

constexpr Duration kRetry = std::chrono::milliseconds(500);
constexpr Duration kVersionPoll = std::chrono::milliseconds(5);

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

Publication::Publication(const Options& options, ServiceContext& context, Executor& control,
                         std::function<void()> done)
    : options_(options), context_(context), control_(control), done_(std::move(done)) {}

void Publication::Start() {
  control_.Post([this] { Publish(); });
}

void Publication::Publish() {
  KV_FAILPOINT("beforePublishing");
  MemberAttributes attributes{
      .member = context_.member_id, .name = options_.name, .client_urls = {}};
  const auto urls = ParseUrls(options_.advertise_client_urls);
  for (const Url& url : *urls) attributes.client_urls.push_back(url.text());
  context_.Propose(nullptr, RequestKind::kMemberAttributesSet, EncodeMemberAttributes(attributes),
                   std::make_unique<CallbackWaiter>([this](bool applied) {
                     if (applied) return control_.Post([this] { WaitForClusterVersion(); });
                     control_.PostAt(control_.clock().Now() + kRetry, [this] { Publish(); });
                   }),
                   options_.RequestTimeout());
}

void Publication::WaitForClusterVersion() {
  if (context_.membership->View()->cluster_version.empty()) {
    control_.PostAt(control_.clock().Now() + kVersionPoll, [this] { WaitForClusterVersion(); });
    return;
  }
  KV_INFO("published local member to cluster through raft",
          {"local-member-id", IdText(context_.member_id)},
          {"local-member-attributes", options_.advertise_client_urls},
          {"cluster-id", IdText(context_.cluster_id)});
  done_();
}

}  // namespace kvorum::server
