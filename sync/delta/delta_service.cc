#include "sync/delta/delta_service.h"

#include <optional>
#include <utility>

#include "base/answer_memory.h"
#include "base/net/url.h"
#include "rpc/server/server.h"
#include "rpc/tls/tls_context.h"
#include "sync/delta/delta_wire.h"

namespace kvorum::sync {
namespace {

constexpr std::string_view kService = "envoy.service.discovery.v3.AggregatedDiscoveryService";
constexpr std::string_view kUnixScheme = "unix:";
constexpr std::chrono::milliseconds kStreamsGrace(200);
constexpr std::uint32_t kMaxDeltaConnections = 16'384;
constexpr std::uint32_t kStreamsOfAConnection = 100;

// One call, which owns itself until it is over; the plane may keep it for longer. The plane calls
// on its executor, the stream on its loop.
class DeltaCall final : public DeltaCarrier, public std::enable_shared_from_this<DeltaCall> {
 public:
  DeltaCall(ControlPlane& plane, std::shared_ptr<rpc::ServerStream> stream,
            bool node_from_certificate)
      : plane_(plane), stream_(std::move(stream)), node_from_certificate_(node_from_certificate) {}

  void Start() {
    id_ = plane_.Open(shared_from_this());
    stream_->context().OnCancel(
        [self = shared_from_this()](const Error&) { self->plane_.Closed(self->id_); });
    Proceed();
  }

  void Send(const DeltaResponse& response) override {
    ByteChain message = {SharedBytes::Own(BytesOf(response))};
    stream_->Write(std::move(message), [self = shared_from_this()](const Result<void>& sent) {
      if (sent) self->plane_.Sent(self->id_);
    });
  }
  void Proceed() override {
    stream_->Read([self = shared_from_this()](Result<std::optional<SharedBytes>> message) {
      self->OnRequest(message);
    });
  }
  void Close(const Error& error) override { stream_->Cut(error); }

 private:
  void OnRequest(const Result<std::optional<SharedBytes>>& message) {
    if (!message) return plane_.Closed(id_);
    if (!*message) {
      plane_.Closed(id_);
      return stream_->FinishOk();
    }
    auto request = DeltaRequestFromBytes((*message)->view());
    if (!request) return Refuse({Code::kInternal, "grpc: error unmarshalling request"});
    if (node_from_certificate_) {
      if (const auto known = TakeNodeFromCertificate(*request); !known)
        return Refuse(known.error());
    }
    plane_.Receive(id_, *std::move(request));
  }

  // The first request names the node, and the others need not.
  Result<void> TakeNodeFromCertificate(DeltaRequest& request) const {
    const auto name = stream_->context().certificate_name();
    if (!name || name->empty())
      return Fail(Code::kPermissionDenied, "the client's certificate has no common name");
    if (request.node.empty()) request.node = name->view();
    if (request.node == name->view()) return {};
    return Fail(Code::kPermissionDenied, "the node is not the one of the client's certificate, " +
                                             std::string(name->view()));
  }

  void Refuse(const Error& error) {
    plane_.Closed(id_);
    stream_->Finish(error);
  }

  ControlPlane& plane_;
  const std::shared_ptr<rpc::ServerStream> stream_;
  const bool node_from_certificate_;
  ControlPlane::StreamId id_ = 0;
};

rpc::Router RoutesTo(ControlPlane& plane, bool node_from_certificate) {
  rpc::Router router;
  router.AddStream(
      kService, "DeltaAggregatedResources", rpc::MethodKind::kBidiStream,
      [&plane, node_from_certificate](std::shared_ptr<rpc::ServerStream> stream) {
        std::make_shared<DeltaCall>(plane, std::move(stream), node_from_certificate)->Start();
      });
  router.AddStream(kService, "StreamAggregatedResources", rpc::MethodKind::kBidiStream,
                   [](const std::shared_ptr<rpc::ServerStream>& stream) {
                     stream->Finish({Code::kUnimplemented,
                                     "the state of the world is not served here: subscribe to "
                                     "what changes, by DeltaAggregatedResources"});
                   });
  return router;
}

Result<std::shared_ptr<const rpc::TlsListen>> TlsOf(const DeltaServiceOptions& options) {
  if (options.certificate_file.empty()) return nullptr;
  rpc::TlsOptions files;
  files.certificate_file = options.certificate_file;
  files.key_file = options.key_file;
  files.trusted_ca_file = options.client_ca_file;
  files.client_cert_auth = !options.client_ca_file.empty();
  files.alpn = {"h2"};
  auto context = rpc::TlsContext::Create(std::move(files));
  if (!context) return Fail(Code::kFailedPrecondition, context.error().message);
  return std::make_shared<const rpc::TlsListen>(
      rpc::TlsListen{.context = *std::move(context), .plain_text_too = false});
}

}  // namespace

class DeltaService::Impl {
 public:
  Impl(ControlPlane& plane, const DeltaServiceOptions& options)
      : memory_(options.memory_bytes),
        server_({.thread_name = "delta-io",
                 .max_receive_message_bytes = options.max_request_bytes,
                 .max_concurrent_streams = kStreamsOfAConnection,
                 .max_connections = kMaxDeltaConnections,
                 .answers = &memory_,
                 .handshake_timeout = options.handshake_timeout,
                 // A subscriber that has vanished is noticed.
                 .ping_interval = std::chrono::seconds(30),
                 .ping_timeout = std::chrono::seconds(10)},
                RoutesTo(plane, options.node_from_certificate),
                rpc::HttpMux::ToHandler(rpc::HttpMux())) {}
  ~Impl() { server_.Shutdown(kStreamsGrace); }

  Result<void> Listen(const DeltaServiceOptions& options) {
    KV_TRY(auto tls, TlsOf(options));
    const rpc::ListenOptions how{.tls = std::move(tls), .traffic = rpc::Traffic::kGrpc};
    const auto refuse = [&] {
      return Fail(Code::kUnavailable, "cannot listen on " + options.address);
    };
    if (options.address.starts_with(kUnixScheme)) {
      if (!server_.ListenUnix(options.address.substr(kUnixScheme.size()), how)) return refuse();
      address_ = options.address;
    } else {
      const auto url = Url::Parse("http://" + options.address);
      if (!url || url->port_text().empty() || !url->CheckAddress()) return refuse();
      auto bound = server_.Listen(url->host(), url->port(), how);
      if (!bound) return refuse();
      // Under the name that it was asked for.
      address_ =
          options.address.substr(0, options.address.rfind(':')) + bound->substr(bound->rfind(':'));
    }
    server_.Start();
    return {};
  }
  const std::string& address() const { return address_; }

 private:
  AnswerMemory memory_;
  rpc::Server server_;
  std::string address_;
};

DeltaService::DeltaService(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
DeltaService::~DeltaService() = default;

Result<std::unique_ptr<DeltaService>> DeltaService::Listen(ControlPlane& plane,
                                                           const DeltaServiceOptions& options) {
  auto impl = std::make_unique<Impl>(plane, options);
  KV_RETURN_IF_ERROR(impl->Listen(options));
  return std::unique_ptr<DeltaService>(new DeltaService(std::move(impl)));
}

const std::string& DeltaService::address() const { return impl_->address(); }

}  // namespace kvorum::sync
