#include "consul/http/listener.h"

#include <chrono>
#include <utility>

#include "base/answer_memory.h"
#include "base/net/url.h"
#include "rpc/server/server.h"
#include "rpc/tls/tls_context.h"

namespace kvorum::consul {
namespace {

constexpr std::chrono::milliseconds kGrace(500);
constexpr const char* kTooManyConnections =
    "Your IP is issuing too many concurrent connections, please rate limit your calls\n";
// Larger than any body that a route takes, so that the route's own text is the answer.
constexpr std::uint64_t kMaxHttpBodyBytes = std::uint64_t{2} << 20U;

Result<std::shared_ptr<const rpc::TlsListen>> TlsOf(const Listener::Options& options) {
  if (options.certificate_file.empty()) return nullptr;
  rpc::TlsOptions files;
  files.certificate_file = options.certificate_file;
  files.key_file = options.key_file;
  files.trusted_ca_file = options.client_ca_file;
  files.client_cert_auth = !options.client_ca_file.empty();
  files.alpn = {"h2", "http/1.1"};
  auto context = rpc::TlsContext::Create(std::move(files));
  if (!context) return Fail(Code::kInvalidArgument, context.error().message);
  return std::make_shared<const rpc::TlsListen>(
      rpc::TlsListen{.context = *std::move(context), .plain_text_too = false});
}

bool IsLoopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

}  // namespace

class Listener::Impl {
 public:
  Impl(const Router& router, const Options& options)
      : memory_(options.memory_bytes),
        server_({.loops = options.loops,
                 .thread_name = "http",
                 .max_connections = options.max_connections,
                 .max_connections_per_address = options.max_connections_per_client,
                 .too_many_connections_text = kTooManyConnections,
                 .answers = &memory_,
                 .http_header_timeout = std::chrono::seconds(30),
                 .http_body_timeout = std::chrono::seconds(60),
                 .http_max_body_bytes = kMaxHttpBodyBytes,
                 .http_too_large_text =
                     [&router](std::string_view /*method*/, std::string_view path,
                               std::uint64_t bytes) {
                       return router.RefusalOfBody(std::string(path), bytes);
                     },
                 // A client that has vanished is noticed while it waits.
                 .ping_interval = std::chrono::seconds(30),
                 .ping_timeout = std::chrono::seconds(10)},
                rpc::Router(), [&router](rpc::HttpRequest request, rpc::HttpReply reply) {
                  router.Serve(std::move(request), std::move(reply));
                }) {}
  ~Impl() { Stop(); }

  void Stop() { server_.Shutdown(kGrace); }

  Result<void> Listen(const Options& options) {
    const auto url = Url::Parse("http://" + options.address);
    if (!url || url->port_text().empty() || !url->CheckAddress())
      return Fail(Code::kInvalidArgument, "the address is not HOST:PORT: " + options.address);
    KV_TRY(auto tls, TlsOf(options));
    is_secure_ = tls != nullptr;
    is_loopback_ = IsLoopback(url->host());
    auto bound = server_.Listen(url->host(), url->port(),
                                {.tls = std::move(tls), .traffic = rpc::Traffic::kHttp});
    if (!bound) return Fail(Code::kUnavailable, bound.error().message);
    address_ = *std::move(bound);
    server_.Start();
    return {};
  }

  const std::string& address() const { return address_; }
  bool is_secure() const { return is_secure_; }
  bool is_loopback() const { return is_loopback_; }

 private:
  AnswerMemory memory_;
  rpc::Server server_;
  std::string address_;
  bool is_secure_ = false;
  bool is_loopback_ = false;
};

Listener::Listener(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Listener::~Listener() = default;

Result<std::unique_ptr<Listener>> Listener::Open(const Router& router, const Options& options) {
  auto impl = std::make_unique<Impl>(router, options);
  KV_RETURN_IF_ERROR(impl->Listen(options));
  return std::unique_ptr<Listener>(new Listener(std::move(impl)));
}

void Listener::Stop() { impl_->Stop(); }
const std::string& Listener::address() const { return impl_->address(); }
bool Listener::is_secure() const { return impl_->is_secure(); }
bool Listener::is_loopback() const { return impl_->is_loopback(); }

}  // namespace kvorum::consul
