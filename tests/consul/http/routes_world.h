// The routes of the catalog and of health over a store in memory.
#pragma once

#include <memory>
#include <string>

#include "consul/http/catalog_routes.h"
#include "consul/http/catalog_writes.h"
#include "consul/http/router.h"
#include "tests/consul/http_world.h"

namespace kvorum::consul {

struct RoutesWorld : HttpWorld {
  RoutesWorld() {
    const CatalogReadParts reads{.copy = copy, .reading = reading, .node = "n2"};
    router.Add(CatalogReadRoutes(reads));
    router.Add(HealthRoutes(reads));
    router.Add(CatalogWriteRoutes({.copy = copy, .access = access, .keys = keys}));
  }

  std::shared_ptr<FakeAnswer> Ask(const std::string& method, const std::string& target,
                                  std::string body = {}, std::string token = {}) {
    auto answer = std::make_shared<FakeAnswer>();
    rpc::HttpRequest request;
    request.method = method;
    request.target = target;
    request.body = SharedBytes::Own(std::move(body));
    if (!token.empty()) request.headers.push_back({"x-consul-token", std::move(token)});
    router.Serve(std::move(request), rpc::HttpReply(answer), &executor);
    executor.Settle();
    return answer;
  }
  // The answer's JSON; null if it was not a success.
  Json Get(const std::string& target) {
    const auto answer = Ask("GET", target);
    return answer->status == 200 ? answer->json() : Json(answer->line());
  }
  // The answer's line to a body.
  std::string Register(const std::string& body) {
    return Ask("PUT", "/v1/catalog/register", body)->line();
  }
  std::string Deregister(const std::string& body) {
    return Ask("PUT", "/v1/catalog/deregister", body)->line();
  }

  Router router{{}};
};

// The items' members of that name, in order.
inline std::vector<std::string> Members(const Json& list, const std::string& name) {
  std::vector<std::string> members;
  for (const Json& item : list) members.push_back(item.at(name).get<std::string>());
  return members;
}

}  // namespace kvorum::consul
