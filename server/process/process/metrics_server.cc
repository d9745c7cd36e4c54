#include "server/process/process/metrics_server.h"

#include <chrono>
#include <utility>

#include "base/log/logging.h"
#include "base/net/url.h"
#include "server/process/settings/options.h"
#include "server/process/settings/part_options.h"

namespace kvorum::server {
namespace {

constexpr std::chrono::milliseconds kMetricsShutdownGrace(100);
// No page here has a body, but those of /debug/pprof/ take one of 128 KiB.
constexpr std::uint64_t kMaxBodyBytes = std::uint64_t{128} << 10;

// RequestBatcher has places for the loops of the clients' server only, and none for this one's.
rpc::HttpHandler WithoutLoop(rpc::HttpHandler handler) {
  return [handler = std::move(handler)](rpc::HttpRequest request, rpc::HttpReply reply) {
    request.loop = nullptr;
    handler(std::move(request), std::move(reply));
  };
}

}  // namespace

Result<void> MetricsServer::Bind(const Options& options,
                                 const std::shared_ptr<rpc::TlsContext>& tls,
                                 AnswerMemory& answers) {
  if (options.listen_metrics_urls.empty()) return {};
  KV_TRY(const std::vector<Url> urls, ParseUrls(options.listen_metrics_urls));
  rpc::Options limits{.thread_name = "metrics-io", .max_connections = kMaxConnections};
  limits.max_buffered_request_bytes = kMaxBodyBytes;
  limits.http_max_body_bytes = kMaxBodyBytes;
  limits.answers = &answers;
  server_ = std::make_unique<rpc::Server>(std::move(limits));
  for (const Url& url : urls) {
    if (url.tls() && tls == nullptr) {
      return Fail(Code::kInvalidArgument,
                  "client TLS key/cert (--cert-file, --key-file) must be provided for metrics "
                  "secure url");
    }
    rpc::ListenOptions how{
        .tls = nullptr, .traffic = rpc::Traffic::kGrpcAndHttp, .port_use = PortUseOf(options)};
    if (url.tls()) {
      how.tls = std::make_shared<const rpc::TlsListen>(
          rpc::TlsListen{.context = tls, .plain_text_too = false});
    }
    KV_RETURN_IF_ERROR(url.CheckAddress());
    KV_TRY(std::string address, url.unix_socket()
                                    ? server_->ListenUnix(url.socket_path(), std::move(how))
                                    : server_->Listen(url.host(), url.port(), std::move(how)));
    addresses_.push_back(std::move(address));
  }
  return {};
}

void MetricsServer::Use(rpc::HttpHandler handler) {
  if (server_ != nullptr) server_->SetHandlers(rpc::Router(), WithoutLoop(std::move(handler)));
}

void MetricsServer::Serve() {
  if (server_ == nullptr) return;
  server_->Start();
  for (const std::string& address : addresses_) KV_INFO("serving metrics", {"address", address});
}

void MetricsServer::Shutdown() {
  if (server_ != nullptr) server_->Shutdown(kMetricsShutdownGrace);
}

}  // namespace kvorum::server
