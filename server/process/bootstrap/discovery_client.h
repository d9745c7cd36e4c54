// The running cluster that --discovery-endpoints names, asked over gRPC.
//
// Used by one thread, which it blocks. A request goes to one endpoint after the other until one
// answers or the request's time is over. Each endpoint is plain text or TLS by its scheme; without
// one, TLS if a flag asks for it. Requests may be sent twice: all of them can be repeated.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/net/url.h"
#include "rpc/client/grpc_connection.h"
#include "server/process/bootstrap/cluster_discovery.h"
#include "server/process/settings/options.h"

namespace kvorum::server {

class DiscoveryClient final : public DiscoveryService {
 public:
  // Errors: an endpoint or a file of certificates that cannot be used.
  static Result<std::unique_ptr<DiscoveryClient>> Open(const Options& options);

  Result<Listing> Get(std::string_view key, std::string_view range_end) override;
  Result<void> Put(std::string_view key, std::string_view value) override;
  Result<void> Watch(std::string_view key, std::string_view range_end, std::int64_t revision,
                     const Take& take) override;

 private:
  struct Settings {
    std::vector<Url> endpoints;  // of https where TLS is used
    std::shared_ptr<rpc::TlsContext> tls;
    std::string user;
    std::string password;
    Duration request_timeout{};
    rpc::GrpcConnection::Options connection;
  };

  explicit DiscoveryClient(Settings settings) : settings_(std::move(settings)) {}
  Result<std::string> Ask(std::string_view path, const std::string& message);
  // Makes sure that there is a connection, and a token for it where a user is named.
  Result<void> Connect(TimePoint deadline);
  Result<void> LogIn(Duration timeout);

  const Settings settings_;
  std::size_t next_ = 0;  // endpoint
  std::unique_ptr<rpc::GrpcConnection> connection_;
  std::string token_;
};

}  // namespace kvorum::server
