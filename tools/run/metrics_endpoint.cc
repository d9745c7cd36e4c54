#include "tools/run/metrics_endpoint.h"

#include <chrono>
#include <utility>

#include "base/net/url.h"
#include "rpc/server/server.h"
#include "sync/kernel/metrics.h"

namespace kvorum::ctl {
namespace {

constexpr std::chrono::milliseconds kShutdownGrace(100);
constexpr std::uint32_t kMaxConnections = 64;
constexpr std::uint64_t kMaxRequestBodyBytes = 4096;  // of a request; it is not read

rpc::HttpResponse Answer(const rpc::HttpRequest& request, const sync::Metrics& metrics) {
  if (request.method != "GET" && request.method != "HEAD") {
    auto refusal = rpc::HttpResponse::Text(405, "Method Not Allowed\n");
    refusal.headers.push_back({.name = "Allow", .value = "GET"});
    return refusal;
  }
  auto page = rpc::HttpResponse::Text(200, metrics.Text());
  page.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return page;
}

}  // namespace

Result<std::unique_ptr<MetricsEndpoint>> MetricsEndpoint::Open(const std::string& address,
                                                               const sync::Metrics& metrics) {
  const auto url = Url::Parse("http://" + address);
  if (!url || url->port_text().empty() || !url->CheckAddress())
    return Fail(Code::kInvalidArgument, "\"" + address + "\" is not HOST:PORT");
  rpc::HttpMux mux;
  mux.Handle("/metrics", [&metrics](const rpc::HttpRequest& request, rpc::HttpReply reply) {
    reply.Send(Answer(request, metrics));
  });
  auto server =
      std::make_unique<rpc::Server>(rpc::Options{.thread_name = "metrics-io",
                                                 .max_connections = kMaxConnections,
                                                 .http_max_body_bytes = kMaxRequestBodyBytes},
                                    rpc::Router(), rpc::HttpMux::ToHandler(std::move(mux)));
  KV_TRY(std::string bound, server->Listen(url->host(), url->port(),
                                           {.tls = nullptr, .traffic = rpc::Traffic::kHttp}));
  server->Start();
  return std::unique_ptr<MetricsEndpoint>(new MetricsEndpoint(std::move(server), std::move(bound)));
}

MetricsEndpoint::MetricsEndpoint(std::unique_ptr<rpc::Server> server, std::string address)
    : server_(std::move(server)), address_(std::move(address)) {}

MetricsEndpoint::~MetricsEndpoint() { server_->Shutdown(kShutdownGrace); }

}  // namespace kvorum::ctl
