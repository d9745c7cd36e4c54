#include "sync/delta/delta_session.h"

#include <algorithm>
#include <utility>

#include "base/metric.h"

namespace kvorum::sync {

DeltaSession::DeltaSession(ControlPlane::StreamId id, std::shared_ptr<DeltaCarrier> carrier,
                           const ControlPlaneOptions& options, SendingTurns& turns,
                           Metrics& metrics, const Clock& clock)
    : id_(id),
      carrier_(std::move(carrier)),
      options_(options),
      turns_(turns),
      metrics_(metrics),
      clock_(clock),
      stream_(options.limits),
      deadline_(clock.Now() + options.send_timeout) {}

DeltaSession::~DeltaSession() {
  turns_.End(sending_bytes_);
  turns_.Forget(id_);
}

Result<void> DeltaSession::Begin(const DeltaRequest& request) {
  constexpr std::size_t kMaxNodeBytes = 1024;
  if (request.node.empty() || request.node.size() > kMaxNodeBytes)
    return Fail(Code::kInvalidArgument,
                "a stream begins with a request that names its node in 1 to " +
                    std::to_string(kMaxNodeBytes) + " bytes");
  node_ = request.node;
  if (options_.view_of != nullptr) view_ = options_.view_of(node_);
  open_ = metrics_.Get(GaugeName::kStreams, {node_});
  open_->Set(1);
  deadline_ = kNever;
  return {};
}

Result<void> DeltaSession::Receive(const DeltaRequest& request) {
  if (node_.empty()) KV_RETURN_IF_ERROR(Begin(request));
  if (std::ranges::find(options_.types, request.type) == options_.types.end()) {
    std::string served;
    for (const std::string& type : options_.types) served += (served.empty() ? "" : ", ") + type;
    return Fail(Code::kInvalidArgument,
                "type " + request.type + " is not served here; these are: " + served);
  }
  KV_TRY(const DeltaAnswer answer, stream_.Receive(request));
  if (answer == DeltaAnswer::kRefused) {
    auto& refusals = refusals_[request.type];
    if (refusals == nullptr) refusals = metrics_.Get(CounterName::kWdNacks, {node_, request.type});
    refusals->Add();
    if (options_.on_refusal != nullptr) options_.on_refusal(node_, stream_.State(request.type));
  }
  SendNext();
  return {};
}

Result<void> DeltaSession::Generate(const Reconciler& reconciler,
                                    const std::set<std::string>& types, PassReason reason) {
  const TimePoint start = clock_.Now();
  KV_TRY(Snapshot snapshot, reconciler.Build(view_, types, snapshot_));
  const bool has_changed = snapshot != snapshot_;
  auto& times = generations_[{reason, has_changed}];
  if (times == nullptr)
    times = metrics_.Get(
        HistogramName::kWdGenerationSeconds,
        {std::string(PassReasonName(reason)), has_changed ? "changed" : "no_changes", node_});
  times->Observe(clock_.Now() - start);
  last_reason_ = PassReasonName(reason);
  if (!has_changed) return {};
  snapshot_ = std::move(snapshot);
  stream_.Offer(snapshot_);
  SendNext();
  return {};
}

void DeltaSession::SendNext() {
  if (is_sending_ || !turns_.Ask(id_)) return;
  const auto response = stream_.Next();
  if (!response) return;
  is_sending_ = true;
  for (const DeltaResource& resource : response->resources)
    sending_bytes_ += resource.name.size() + resource.bytes->size();
  turns_.Begin(sending_bytes_);
  deadline_ = clock_.Now() + options_.send_timeout;
  carrier_->Send(*response);
}

void DeltaSession::Sent() {
  is_sending_ = false;
  turns_.End(std::exchange(sending_bytes_, 0));
  deadline_ = kNever;
  SendNext();
}

Error DeltaSession::Overdue() const {
  return {Code::kDeadlineExceeded, node_.empty() ? "the first request did not come in time"
                                                 : "a response was not read in time"};
}

NodeState DeltaSession::State() const { return {node_, last_reason_, stream_.States()}; }

}  // namespace kvorum::sync
