#include "server/gateway/routes.h"

#include <algorithm>
#include <vector>

#include "api/message_tables.h"
#include "base/check.h"
#include "base/words.h"
#include "server/call/api.h"

namespace kvorum::server::gateway {
namespace {

const wire::Table* TableOf(const ApiMethod& method, std::string_view suffix) {
  std::string name(method.service.substr(0, method.service.find('.') + 1));
  name.append(method.json.messages.empty() ? method.name : method.json.messages).append(suffix);
  const wire::Table* const table = MessageNamed(name);
  KV_CHECK(table != nullptr, "a route's message has no table");
  return table;
}

std::vector<Route> AllRoutes() {
  std::vector<Route> routes;
  for (const ApiMethod& method : ApiMethods()) {
    if (method.json.paths.empty()) continue;
    for (const std::string_view path : Split(method.json.paths, ' ')) {
      routes.push_back({.path = path,
                        .method = method.Path(),
                        .request = TableOf(method, "Request"),
                        .response = TableOf(method, "Response"),
                        .reads_open_body = method.kind == rpc::MethodKind::kBidiStream});
    }
  }
  return routes;
}

}  // namespace

std::span<const Route> Routes() {
  static const std::vector<Route> routes = AllRoutes();
  return routes;
}

const Route* FindRoute(std::string_view path) {
  const auto found = std::ranges::find(Routes(), path, &Route::path);
  return found == Routes().end() ? nullptr : &*found;
}

}  // namespace kvorum::server::gateway
