#include "client/connections.h"

#include <grpcpp/security/tls_credentials_options.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <utility>

#include "client/endpoint.h"

namespace kvorum::client {
namespace {

Result<std::string> ReadFile(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::string reason = std::generic_category().message(errno);
    reason.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(reason.front())));
    return Fail(Code::kFailedPrecondition, "open " + path + ": " + reason);
  }
  return std::string(std::istreambuf_iterator<char>(file), {});
}

Result<std::shared_ptr<grpc::ChannelCredentials>> TlsCredentials(const TlsOptions& tls) {
  grpc::SslCredentialsOptions keys;
  if (!tls.ca_file.empty()) {
    KV_TRY(keys.pem_root_certs, ReadFile(tls.ca_file));
  }
  if (tls.certificate_file.empty() != tls.key_file.empty())
    return Fail(Code::kFailedPrecondition,
                "KeyFile and CertFile must both be present[key: " + tls.key_file +
                    ", cert: " + tls.certificate_file + "]");
  if (!tls.certificate_file.empty()) {
    KV_TRY(keys.pem_cert_chain, ReadFile(tls.certificate_file));
    KV_TRY(keys.pem_private_key, ReadFile(tls.key_file));
  }
  if (!tls.skip_verification) return grpc::SslCredentials(keys);

  grpc::experimental::TlsChannelCredentialsOptions options;
  options.set_verify_server_certs(false);
  options.set_check_call_host(false);
  options.set_certificate_verifier(std::make_shared<grpc::experimental::NoOpCertificateVerifier>());
  if (!keys.pem_cert_chain.empty()) {
    options.set_certificate_provider(
        std::make_shared<grpc::experimental::StaticDataCertificateProvider>(
            std::vector<grpc::experimental::IdentityKeyCertPair>{
                {keys.pem_private_key, keys.pem_cert_chain}}));
    options.watch_identity_key_cert_pairs();
  }
  return grpc::experimental::TlsCredentials(options);
}

int Milliseconds(std::chrono::nanoseconds d) {
  const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  return static_cast<int>(std::clamp<std::int64_t>(ms, 1, 0x7fffffff));
}

grpc::ChannelArguments Arguments(const Options& options) {
  // A server counts pings that come more often than it allows as an attack; 10 s is never too
  // often.
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
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
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

Connection::Connection(std::shared_ptr<grpc::Channel> channel_in)
    : channel(std::move(channel_in)),
      kv(etcdserverpb::KV::NewStub(channel)),
      watch(etcdserverpb::Watch::NewStub(channel)),
      lease(etcdserverpb::Lease::NewStub(channel)),
      cluster(etcdserverpb::Cluster::NewStub(channel)),
      maintenance(etcdserverpb::Maintenance::NewStub(channel)),
      auth(etcdserverpb::Auth::NewStub(channel)) {}

Connections::Connections(std::vector<Connection> connections)
    : connections_(std::move(connections)) {}

Result<std::unique_ptr<Connections>> Connections::Open(const Options& options) {
  KV_TRY(const auto tls, TlsCredentials(options.tls));
  const auto plain = grpc::InsecureChannelCredentials();
  const grpc::ChannelArguments arguments = Arguments(options);
  std::vector<Connection> connections;
  for (const std::string& text : options.endpoints) {
    const Endpoint endpoint = ParseEndpoint(text);
    const bool secure = endpoint.security == Endpoint::Security::kTls ||
                        (endpoint.security == Endpoint::Security::kAsChosen && options.tls.enabled);
    connections.emplace_back(
        grpc::CreateCustomChannel(endpoint.target, secure ? tls : plain, arguments));
  }
  return std::unique_ptr<Connections>(new Connections(std::move(connections)));
}

Connection* Connections::NextReady() {
  const std::size_t start = next_.fetch_add(1, std::memory_order_relaxed);
  for (std::size_t i = 0; i < connections_.size(); ++i) {
    Connection& candidate = connections_[(start + i) % connections_.size()];
    if (candidate.channel->GetState(/*try_to_connect=*/true) == GRPC_CHANNEL_READY)
      return &candidate;
  }
  return nullptr;
}

Connection* Connections::WaitReady(CallOptions::Deadline deadline) {
  if (connections_.size() == 1) {
    Connection& only = connections_.front();
    return only.channel->WaitForConnected(WallDeadline(deadline)) ? &only : nullptr;
  }
  // Notifications can't be taken back, so each wait is a short one: when one connection comes up,
  // the others' notifications hold us no longer than that.
  constexpr std::chrono::milliseconds kSlice(20);
  while (true) {
    if (Connection* ready = NextReady()) return ready;
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline) return nullptr;
    grpc::CompletionQueue queue;
    const auto slice_end = WallDeadline(deadline - now < kSlice ? deadline : now + kSlice);
    for (Connection& connection : connections_)
      connection.channel->NotifyOnStateChange(connection.channel->GetState(true), slice_end, &queue,
                                              nullptr);
    queue.Shutdown();
    void* tag = nullptr;
    bool changed = false;
    while (queue.Next(&tag, &changed)) {
    }
  }
}

}  // namespace kvorum::client
