#include "consul/http/other_routes.h"

#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/net/url.h"
#include "consul/http/reading.h"
#include "consul/http/router.h"

namespace kvorum::consul {
namespace {

constexpr std::string_view kServerPort = ":8300";

// One question at a time: health pages ask each second, also while nothing answers.
class ServerQuestion : public std::enable_shared_from_this<ServerQuestion> {
 public:
  explicit ServerQuestion(const OtherParts& parts) : parts_(parts) {}

  const std::string& datacenter() const { return parts_.datacenter; }

  void Ask(OtherParts::OnServers on_servers) {
    {
      const std::lock_guard lock(mutex_);
      askers_.push_back(std::move(on_servers));
      if (askers_.size() > 1) return;
    }
    parts_.ask_servers([self = shared_from_this()](const Result<ServerList>& servers) {
      std::vector<OtherParts::OnServers> askers;
      {
        const std::lock_guard lock(self->mutex_);
        askers.swap(self->askers_);
      }
      for (OtherParts::OnServers& each : askers) each(servers);
    });
  }

 private:
  const OtherParts parts_;
  std::mutex mutex_;
  std::vector<OtherParts::OnServers> askers_;  // of the question in progress
};

template <class ToJson>
Route ServersRoute(const std::shared_ptr<ServerQuestion>& question, std::string path,
                   ToJson to_json) {
  return {
      .path = std::move(path), .methods = "GET", .handle = [question, to_json](Exchange exchange) {
        if (!IsOurDatacenter(exchange, question->datacenter())) return;
        question->Ask(
            [exchange = std::move(exchange), to_json](Result<ServerList> servers) mutable {
              // A cluster that does not answer has no leader that we know.
              exchange.OkJson(to_json(servers ? *servers : ServerList()));
            });
      }};
}

Route EmptyListRoute(std::string path) {
  return {.path = std::move(path), .methods = "GET", .handle = [](Exchange exchange) {
            exchange.SetIndex(1);
            exchange.OkJson(Json::array());
          }};
}

}  // namespace

std::string ServerAddress(std::string_view url) {
  const auto parsed = Url::Parse(url);
  if (!parsed || parsed->host().empty()) return {};
  const std::string& host = parsed->host();
  return (host.contains(':') ? "[" + host + "]" : host) + std::string(kServerPort);
}

std::vector<Route> OtherRoutes(const OtherParts& parts) {
  constexpr std::string_view kNoEvents = "user events are not supported here";
  constexpr std::string_view kNoQueries = "prepared queries are not supported here";
  constexpr std::string_view kNoMesh = "the service mesh (Connect) is not supported here";
  const auto question = std::make_shared<ServerQuestion>(parts);
  std::vector<Route> routes{
      ServersRoute(question, "/v1/status/leader",
                   [](const ServerList& servers) { return Json(servers.leader); }),
      ServersRoute(question, "/v1/status/peers",
                   [](const ServerList& servers) { return Json(servers.peers); }),
      EmptyListRoute("/v1/coordinate/datacenters"),
      EmptyListRoute("/v1/coordinate/nodes"),
      EmptyListRoute("/v1/coordinate/node/"),
  };
  const auto refuse = [&](std::string path, unsigned status, std::string_view text) {
    routes.push_back(
        RefusedRoute(std::move(path), "GET,PUT,POST,DELETE", status, std::string(text)));
  };
  refuse("/v1/event/", 501, kNoEvents);
  refuse("/v1/query", 501, kNoQueries);
  refuse("/v1/query/", 501, kNoQueries);
  for (const char* path : {"/v1/catalog/connect/", "/v1/health/connect/", "/v1/health/ingress/",
                           "/v1/connect/", "/v1/agent/connect/", "/v1/catalog/gateway-services/"})
    refuse(path, 404, kNoMesh);
  refuse("/v1/config", 501, "configuration entries are not supported here");
  refuse("/v1/config/", 501, "configuration entries are not supported here");
  refuse("/v1/acl/", 401, "ACL support disabled");
  return routes;
}

}  // namespace kvorum::consul
