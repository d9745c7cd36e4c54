#include "server/process/process/client_server.h"

#include <chrono>
#include <ctime>
#include <utility>

#include "base/file_system.h"
#include "base/log/logging.h"
#include "base/net/url.h"
#include "server/call/api.h"
#include "server/call/call_counters.h"
#include "server/process/certificates/client_tls.h"
#include "server/process/settings/options.h"
#include "server/process/settings/part_options.h"
#include "server/tracing/traced_router.h"

namespace kvorum::server {
namespace {

constexpr std::chrono::milliseconds kClientShutdownGrace(700);

std::string_view NameOf(rpc::Traffic traffic) {
  switch (traffic) {
    case rpc::Traffic::kGrpcAndHttp:
      return "grpc+http";
    case rpc::Traffic::kGrpc:
      return "grpc";
    case rpc::Traffic::kHttp:
      return "http";
  }
  return {};
}

}  // namespace

ClientServer::ClientServer(const Options& options)
    : options_(options), answers_(AnswerMemoryBytes(options)) {}

ClientServer::~ClientServer() = default;

Result<void> ClientServer::Bind() {
  server_ = std::make_unique<rpc::Server>(ClientServerOptions(options_, answers_));
  KV_TRY(tls_, OpenClientTls(PosixFileSystem(), options_, std::time(nullptr)));
  const std::shared_ptr<rpc::TlsContext>& tls = tls_;
  if (tls != nullptr) tls->LoadLargeFilesOn(tls_files_);
  KV_RETURN_IF_ERROR(CheckClientUrls(options_, tls.get()));
  KV_TRY(const std::vector<ClientListener> planned, PlanClientListeners(options_));
  if (options_.listen_client_http_urls.empty()) {
    KV_WARN("Running http and grpc server on single port. This is not recommended for production.");
  }
  for (const auto& [url, secure, insecure, traffic] : planned) {
    rpc::ListenOptions how{.tls = nullptr, .traffic = traffic, .port_use = PortUseOf(options_)};
    if (secure) {
      how.tls = std::make_shared<const rpc::TlsListen>(
          rpc::TlsListen{.context = tls, .plain_text_too = insecure});
    }
    KV_RETURN_IF_ERROR(url.CheckAddress());
    KV_TRY(std::string address, url.unix_socket()
                                    ? server_->ListenUnix(url.socket_path(), std::move(how))
                                    : server_->Listen(url.host(), url.port(), std::move(how)));
    listeners_.push_back({std::move(address), secure, insecure, traffic});
  }
  return {};
}

void ClientServer::Use(rpc::Router router, rpc::HttpHandler handler, const WriteStages& stages,
                       tracing::Tracer* tracer) {
  health_.Register(router);
  if (tracer != nullptr) router = tracing::Traced(std::move(router), *tracer, SpanOf);
  counters_ = std::make_unique<CallCounters>(router.methods().size());
  if (options_.metrics == "extensive") counters_->TimeAll();
  for (const auto& method : router.methods()) methods_.push_back(method->info);
  slow_writes_ = std::make_unique<SlowWrites>(stages, server_->loop_count());
  ObserveCalls(
      router, *counters_, *slow_writes_,
      {.call = options_.warning_unary_request_duration, .apply = options_.warning_apply_duration});
  server_->SetHandlers(std::move(router), std::move(handler));
}

void ClientServer::Accept() {
  accepts_ = true;
  health_.SetServing(false);
  server_->Start();
}

void ClientServer::Serve() {
  health_.SetServing(true);
  if (!accepts_) server_->Start();
  KV_INFO("ready to serve client requests");
  for (const auto& [address, is_secure, is_insecure, traffic] : listeners_) {
    if (is_insecure) {
      KV_INFO("serving client traffic insecurely; this is strongly discouraged!",
              {"traffic", NameOf(traffic)}, {"address", address});
    }
    if (is_secure) {
      KV_INFO("serving client traffic securely", {"traffic", NameOf(traffic)},
              {"address", address});
    }
  }
}

void ClientServer::TellServing(bool serving, std::string_view reason) {
  if (serving) {
    KV_INFO("grpc service status changed", {"service", ""}, {"status", "SERVING"});
  } else {
    KV_WARN("grpc service status changed", {"service", ""}, {"status", "NOT_SERVING"},
            {"reason", reason});
  }
  health_.SetServing(serving);
}

void ClientServer::Shutdown() {
  health_.SetServing(false);
  server_->Shutdown(kClientShutdownGrace);
}

}  // namespace kvorum::server
