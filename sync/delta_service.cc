#include "sync/delta_service.h"

#include <grpc/grpc.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <atomic>
#include <mutex>
#include <utility>

#include "client/tls_files.h"
#include "proto/discovery.grpc.pb.h"
#include "sync/delta_wire.h"

namespace kvorum::sync {
namespace {

namespace wire = envoy::service::discovery::v3;
using StreamReactor =
    grpc::ServerBidiReactor<wire::DeltaDiscoveryRequest, wire::DeltaDiscoveryResponse>;

// One call. It keeps itself until gRPC is done with it; the plane may keep it for longer.
class Stream final : public StreamReactor,
                     public DeltaCarrier,
                     public std::enable_shared_from_this<Stream> {
 public:
  static StreamReactor* Begin(ControlPlane& plane, grpc::CallbackServerContext& context) {
    const auto stream = std::make_shared<Stream>(plane, context);
    stream->self_ = stream;
    stream->id_ = plane.Open(stream);
    stream->Proceed();
    return stream.get();
  }
  Stream(ControlPlane& plane, grpc::CallbackServerContext& context)
      : plane_(plane), context_(context) {}

  void Send(const DeltaResponse& response) override {
    ToWire(response, response_);
    const std::lock_guard lock(mutex_);
    if (is_over_) return;
    is_writing_ = true;
    StartWrite(&response_);
  }
  void Proceed() override {
    const std::lock_guard lock(mutex_);
    if (!is_over_) StartRead(&request_);
  }
  void Close(const Error& error) override {
    End(grpc::Status(static_cast<grpc::StatusCode>(error.code), error.message));
  }

  void OnReadDone(bool ok) override {
    if (ok) return plane_.Receive(id_, FromWire(request_));
    plane_.Closed(id_);
    End(is_writing_ ? grpc::Status::CANCELLED : grpc::Status::OK);
  }
  void OnWriteDone(bool ok) override {
    is_writing_ = false;
    if (ok) plane_.Sent(id_);
  }
  void OnCancel() override {
    plane_.Closed(id_);
    End(grpc::Status::CANCELLED);
  }
  void OnDone() override { self_.reset(); }

 private:
  void End(const grpc::Status& status) {
    const std::shared_ptr<Stream> kept = shared_from_this();
    const std::lock_guard lock(mutex_);
    if (std::exchange(is_over_, true)) return;
    // The status of a call stands behind its messages: one that the other side does not read has to
    // be given up first.
    if (is_writing_)
      grpc_call_cancel_with_status(context_.c_call(),
                                   static_cast<grpc_status_code>(status.error_code()),
                                   status.error_message().c_str(), nullptr);
    Finish(status);
  }

  ControlPlane& plane_;
  grpc::CallbackServerContext& context_;
  ControlPlane::StreamId id_ = 0;
  std::shared_ptr<Stream> self_;
  wire::DeltaDiscoveryRequest request_;
  wire::DeltaDiscoveryResponse response_;
  std::atomic<bool> is_writing_ = false;
  std::mutex mutex_;  // guards the call's operations; no reaction runs under it
  bool is_over_ = false;
};

class Discovery final : public wire::AggregatedDiscoveryService::CallbackService {
 public:
  explicit Discovery(ControlPlane& plane) : plane_(plane) {}
  StreamReactor* DeltaAggregatedResources(grpc::CallbackServerContext* context) override {
    return Stream::Begin(plane_, *context);
  }

 private:
  ControlPlane& plane_;
};

Result<std::shared_ptr<grpc::ServerCredentials>> Credentials(const DeltaServiceOptions& options) {
  namespace tls = grpc::experimental;
  if (options.certificate_file.empty()) return grpc::InsecureServerCredentials();
  constexpr unsigned kReloadSeconds = 10;
  KV_RETURN_IF_ERROR(client::CheckTlsFiles({.certificate_file = options.certificate_file,
                                            .key_file = options.key_file,
                                            .ca_file = options.client_ca_file}));
  tls::TlsServerCredentialsOptions made(std::make_shared<tls::FileWatcherCertificateProvider>(
      options.key_file, options.certificate_file, options.client_ca_file, kReloadSeconds));
  made.watch_identity_key_cert_pairs();
  if (!options.client_ca_file.empty()) {
    made.watch_root_certs();
    made.set_cert_request_type(GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  }
  return tls::TlsServerCredentials(made);
}

void Configure(grpc::ServerBuilder& builder, const DeltaServiceOptions& options) {
  builder.SetMaxReceiveMessageSize(options.max_request_bytes);
  builder.SetMaxSendMessageSize(-1);  // what a response takes is decided by the plane
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  // A subscriber that has vanished is noticed, and one that asks after us is no attacker.
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, 30'000);
  builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 5'000);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 100);  // of one connection
}

}  // namespace

class DeltaService::Impl {
 public:
  explicit Impl(ControlPlane& plane) : discovery_(plane) {}
  ~Impl() {
    if (server_ != nullptr) server_->Shutdown(std::chrono::system_clock::now());
  }

  Result<void> Listen(const DeltaServiceOptions& options) {
    KV_TRY(const auto credentials, Credentials(options));
    grpc::ServerBuilder builder;
    Configure(builder, options);
    builder.AddListeningPort(options.address, credentials, &port_);
    builder.RegisterService(&discovery_);
    server_ = builder.BuildAndStart();
    if (server_ == nullptr || port_ == 0)
      return Fail(Code::kUnavailable, "cannot listen on " + options.address);
    return {};
  }
  int port() const { return port_; }

 private:
  Discovery discovery_;
  std::unique_ptr<grpc::Server> server_;
  int port_ = 0;
};

DeltaService::DeltaService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeltaService::~DeltaService() = default;

Result<std::unique_ptr<DeltaService>> DeltaService::Listen(ControlPlane& plane,
                                                           const DeltaServiceOptions& options) {
  auto impl = std::make_unique<Impl>(plane);
  KV_RETURN_IF_ERROR(impl->Listen(options));
  return std::unique_ptr<DeltaService>(new DeltaService(std::move(impl)));
}

int DeltaService::port() const { return impl_->port(); }

}  // namespace kvorum::sync
