#include "server/tracing/live_call.h"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "api/lease_messages.h"
#include "api/watch_codec.h"
#include "base/text/parse_number.h"
#include "rpc/call/service.h"
#include "rpc/io/local_address.h"

namespace kvorum::server::tracing {
namespace {

constexpr std::array<std::string_view, 17> kStatusNames{
    "OK",        "CANCELLED",      "UNKNOWN",           "INVALID_ARGUMENT",   "DEADLINE_EXCEEDED",
    "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION",
    "ABORTED",   "OUT_OF_RANGE",   "UNIMPLEMENTED",     "INTERNAL",           "UNAVAILABLE",
    "DATA_LOSS", "UNAUTHENTICATED"};

// The codes that are the server's fault, as OpenTelemetry sees it.
bool IsServersFault(Code code) {
  constexpr std::array kCodes{Code::kUnknown,  Code::kDeadlineExceeded, Code::kUnimplemented,
                              Code::kInternal, Code::kUnavailable,      Code::kDataLoss};
  return std::ranges::find(kCodes, code) != kCodes.end();
}

void AddServerAddress(std::vector<Attribute>& attributes, std::string_view address) {
  if (address.empty()) return;
  const std::size_t colon = address.rfind(':');
  const auto port = colon == std::string_view::npos
                        ? std::nullopt
                        : ParseNumber<std::int64_t>(address.substr(colon + 1));
  if (!port.has_value()) {
    attributes.push_back({"server.address", std::string(address)});
    return;
  }
  std::string_view host = address.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  attributes.push_back({"server.address", std::string(host)});
  attributes.push_back({"server.port", *port});
}

TimePoint StartOf(const rpc::CallContext& call) {
  return call.started() == TimePoint{} ? SystemClock().Now() : call.started();
}

}  // namespace

LiveCall::LiveCall(Tracer& tracer, Tracer::Begun begun, const MethodSpans& spans,
                   const rpc::CallContext& call)
    : tracer_(tracer),
      shape_(spans),
      started_(StartOf(call)),
      started_wall_ns_(SystemClock().WallNanos() - (SystemClock().Now() - started_).count()),
      server_(std::make_unique<Span>()) {
  const std::string_view name = call.path().substr(std::min<std::size_t>(1, call.path().size()));
  server_->context = std::move(begun.context);
  server_->parent_id = begun.parent_id;
  server_->parent_is_remote = begun.parent_id != SpanId{};
  server_->name = name;
  server_->kind = Span::Kind::kServer;
  server_->start_ns = started_wall_ns_;
  server_->attributes = {{"rpc.method", std::string(name)},
                         {"rpc.system.name", std::string("grpc")}};
  AddServerAddress(server_->attributes, rpc::LocalAddressOf(call));
}

std::int64_t LiveCall::NowNanos() const {
  return started_wall_ns_ + (SystemClock().Now() - started_).count();
}

LiveCall::SpanPointer LiveCall::MakeInner(InnerSpan described) {
  auto span = std::make_unique<Span>();
  span->context = server_->context;
  span->context.span_id = Tracer::NewSpanId();
  span->parent_id = server_->context.span_id;
  span->name = described.name;
  span->start_ns = NowNanos();
  span->attributes = std::move(described.attributes);
  return span;
}

void LiveCall::EndInner(SpanPointer span) {
  if (span == nullptr) return;
  span->end_ns = NowNanos();
  tracer_.sink().Add(std::move(span));
}

void LiveCall::OnRequest(std::string_view message) {
  std::lock_guard lock(mutex_);
  if (ended_) return;
  if (!std::exchange(has_request_, true)) {
    proposes_ = shape_.proposes(message);
    proposed_ns_ = NowNanos();
  } else if (shape_.shape == Shape::kRequest) {
    return;
  }
  if (shape_.describe == nullptr) return;
  auto described = shape_.describe(message, tracer_.max_txn_ops());
  if (!described.has_value()) return;
  if (inner_.size() + watchers_.size() < kMaxInner) {
    inner_.push_back(MakeInner(*std::move(described)));
  } else {
    inner_.push_back(nullptr);
    tracer_.sink().CountDropped();
  }
}

void LiveCall::OnAnswer(std::string_view message) {
  std::lock_guard lock(mutex_);
  if (ended_) return;
  switch (shape_.shape) {
    case Shape::kPlain:
      return;
    case Shape::kRequest: {
      if (inner_.empty() || inner_.front()->name != "lease_grant") return;
      auto* const id = std::get_if<std::int64_t>(&inner_.front()->attributes.front().value);
      if (id != nullptr && *id == 0) *id = GrantedLease(message);
      return;
    }
    case Shape::kRenewals:
      if (inner_.empty()) return;
      EndInner(std::move(inner_.front()));
      inner_.pop_front();
      return;
    case Shape::kWatchers:
      return OnWatchAnswer(message);
  }
}

void LiveCall::OnWatchAnswer(std::string_view message) {
  const WatchResponseHead answer = ReadWatchResponseHead(message);
  if (answer.created && !inner_.empty()) {
    SpanPointer span = std::move(inner_.front());
    inner_.pop_front();
    // A watcher that is refused has no span.
    if (!answer.canceled && span != nullptr) watchers_[answer.watch_id] = std::move(span);
  } else if (answer.canceled) {
    const auto found = watchers_.find(answer.watch_id);
    if (found == watchers_.end()) return;
    EndInner(std::move(found->second));
    watchers_.erase(found);
  }
}

void LiveCall::AddFate(Span& span, const Error& status, std::int64_t now_ns) const {
  const ProposalFate fate = FateOf(status);
  if (fate.was_sent) span.events.push_back({"Send raft proposal", proposed_ns_, {}});
  if (fate.was_answered) span.events.push_back({"Receive raft result", now_ns, {}});
  if (fate.exception.empty() || !shape_.tells_failures) return;
  span.events.push_back({"exception",
                         now_ns,
                         {{"exception.type", std::string("*errors.errorString")},
                          {"exception.message", std::string(fate.exception)}}});
}

std::vector<LiveCall::SpanPointer> LiveCall::TakeAll() {
  std::vector<SpanPointer> spans;
  for (SpanPointer& span : inner_) spans.push_back(std::move(span));
  for (auto& [id, span] : watchers_) spans.push_back(std::move(span));
  spans.push_back(std::move(server_));
  std::erase(spans, nullptr);
  inner_.clear();
  watchers_.clear();
  return spans;
}

void LiveCall::End(const Error& status) {
  const std::int64_t now_ns = NowNanos();
  std::vector<SpanPointer> spans;
  {
    std::lock_guard lock(mutex_);
    if (std::exchange(ended_, true)) return;
    Span& server = *server_;
    server.attributes.push_back({"rpc.response.status_code",
                                 std::string(kStatusNames[static_cast<std::size_t>(status.code)])});
    server.is_error = IsServersFault(status.code);
    if (server.is_error) server.status_message = TextOf(status.message);
    const bool reached = status.code == Code::kOk || !IsBeforeHandler(status);
    if (!reached) inner_.clear();
    const bool has_inner = !inner_.empty() && inner_.front() != nullptr;
    if (proposes_ && reached && (has_inner || shape_.describe == nullptr))
      AddFate(has_inner ? *inner_.front() : server, status, now_ns);
    spans = TakeAll();
  }
  for (SpanPointer& span : spans) {
    span->end_ns = now_ns;
    tracer_.sink().Add(std::move(span));
  }
}

}  // namespace kvorum::server::tracing
