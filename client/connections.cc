#include "client/connections.h"

#include <algorithm>
#include <string>
#include <utility>

#include "client/endpoint.h"
#include "client/tls_credentials.h"

namespace kvorum::client {
namespace {

int Milliseconds(std::chrono::nanoseconds d) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  return static_cast<int>(std::clamp<std::int64_t>(ms, 1, 0x7fffffff));
}

grpc::ChannelArguments Arguments(const Options& options) {
  // A server treats pings more frequent than it allows as an attack; 10 s is always allowed.
  const auto keepalive =
      std::max<std::chrono::nanoseconds>(options.keepalive_time, std::chrono::seconds(10));
  grpc::ChannelArguments arguments;
  arguments.SetMaxSendMessageSize(-1);  // checked by Client, whose error has the familiar text
  arguments.SetMaxReceiveMessageSize(options.max_receive_bytes);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, Milliseconds(keepalive));
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, Milliseconds(options.keepalive_timeout));
  arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 100);
  arguments.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2000);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // No policy is set, so retries only mean that a call which the server says it has not seen
  // (refused, or sent after its GOAWAY) is sent again.
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 1);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  if (!options.tls.server_name.empty()) arguments.SetSslTargetNameOverride(options.tls.server_name);
  return arguments;
}

// The wall-clock time that gRPC wants, far enough in the future for "never".
std::chrono::system_clock::time_point WallDeadline(CallOptions::Deadline deadline) {
  const auto left = std::min<std::chrono::nanoseconds>(
      deadline - std::min(deadline, std::chrono::steady_clock::now()),
      std::chrono::hours(24 * 365));
  return std::chrono::system_clock::now() + left;
}

}  // namespace

struct Connections::Settings {
  std::shared_ptr<grpc::ChannelCredentials> tls;
  bool tls_as_chosen = false;  // if the endpoint does not say
  grpc::ChannelArguments arguments;
};

Connection::Connection(std::string endpoint_in, std::shared_ptr<grpc::Channel> channel_in)
    : endpoint(std::move(endpoint_in)),
      channel(std::move(channel_in)),
      kv(etcdserverpb::KV::NewStub(channel)),
      watch(etcdserverpb::Watch::NewStub(channel)),
      lease(etcdserverpb::Lease::NewStub(channel)),
      cluster(etcdserverpb::Cluster::NewStub(channel)),
      maintenance(etcdserverpb::Maintenance::NewStub(channel)),
      auth(etcdserverpb::Auth::NewStub(channel)) {}

Connections::Connections(std::unique_ptr<const Settings> settings)
    : settings_(std::move(settings)), list_(std::make_shared<const List>()) {}
Connections::~Connections() = default;

Result<std::unique_ptr<Connections>> Connections::Open(const Options& options) {
  auto settings = std::make_unique<Settings>();
  KV_TRY(settings->tls, TlsCredentials(options.tls));
  settings->tls_as_chosen = options.tls.enabled;
  settings->arguments = Arguments(options);
  std::unique_ptr<Connections> connections(new Connections(std::move(settings)));
  connections->Replace(options.endpoints);
  return connections;
}

bool Connections::IsInTls(const std::string& endpoint) const {
  const Endpoint::Security security = ParseEndpoint(endpoint).security;
  return security == Endpoint::Security::kTls ||
         (security == Endpoint::Security::kAsChosen && settings_->tls_as_chosen);
}

ConnectionPtr Connections::Connect(const std::string& endpoint) const {
  return std::make_shared<Connection>(
      endpoint, grpc::CreateCustomChannel(
                    ParseEndpoint(endpoint).target,
                    IsInTls(endpoint) ? settings_->tls : grpc::InsecureChannelCredentials(),
                    settings_->arguments));
}

void Connections::Replace(const std::vector<std::string>& endpoints) {
  const std::lock_guard lock(mutex_);
  auto list = std::make_shared<List>();
  for (const std::string& endpoint : endpoints) {
    if (std::ranges::find(*list, endpoint, &Connection::endpoint) != list->end()) continue;
    const auto kept = std::ranges::find(*list_, endpoint, &Connection::endpoint);
    list->push_back(kept != list_->end() ? *kept : Connect(endpoint));
  }
  list_ = std::move(list);
}

std::shared_ptr<const Connections::List> Connections::Current() const {
  const std::lock_guard lock(mutex_);
  return list_;
}

std::vector<std::string> Connections::endpoints() const {
  std::vector<std::string> endpoints;
  for (const ConnectionPtr& connection : *Current()) endpoints.push_back(connection->endpoint);
  return endpoints;
}

ConnectionPtr Connections::NextReady(const List& connections) {
  const std::size_t start = next_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < connections.size(); ++i) {
    const ConnectionPtr& candidate = connections[(start + i) % connections.size()];
    if (candidate->channel->GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_READY)
      return candidate;
  }
  return nullptr;
}

ConnectionPtr Connections::WaitReady(CallOptions::Deadline deadline, const std::stop_token& stop) {
  // Notifications can't be cancelled, so each wait is short: when one connection comes up, or the
  // endpoints are replaced, the others' notifications delay us by at most this.
  constexpr std::chrono::milliseconds kSlice(20);
  while (true) {
    const std::shared_ptr<const List> connections = Current();
    if (ConnectionPtr ready = NextReady(*connections)) return ready;
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline || stop.stop_requested()) return nullptr;
    grpc::CompletionQueue queue;
    const auto slice_end = WallDeadline(deadline - now < kSlice ? deadline : now + kSlice);
    for (const ConnectionPtr& connection : *connections)
      connection->channel->NotifyOnStateChange(connection->channel->GetState(true), slice_end,
                                               &queue, nullptr);
    queue.Shutdown();
    void* tag = nullptr;
    bool changed = false;
    while (queue.Next(&tag, &changed)) {
    }
  }
}

// Only a call shows why a channel cannot connect. A channel that is still connecting gets a moment
// to finish.
std::string Connections::WhyNotConnected() const {
  const auto deadline = std::chrono::system_clock::now() + std::chrono::milliseconds(500);
  std::string reasons;
  for (const ConnectionPtr& connection : *Current()) {
    if (connection->channel->GetState(false) == GRPC_CHANNEL_READY) continue;
    grpc::ClientContext context;
    context.set_deadline(deadline);
    etcdserverpb::AuthStatusResponse response;
    const grpc::Status status =
        connection->auth->AuthStatus(&context, etcdserverpb::AuthStatusRequest(), &response);
    if (status.error_code() != grpc::StatusCode::UNAVAILABLE) continue;
    if (!reasons.empty()) reasons += "; ";
    reasons += connection->endpoint + ": " + status.error_message();
  }
  return reasons;
}

}  // namespace kvorum::client
