// The gateway's routes, the API's table of calls and the page in docs/ say the same.
#include "server/gateway/routes.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "server/call/api.h"

namespace kvorum::server::gateway {
namespace {

// `path` `Service.Method` pairs of the page's table.
std::set<std::string> RoutesOfThePage() {
  std::ifstream file(KVORUM_SOURCE_DIR "/docs/operations/gateway.md");
  std::set<std::string> rows;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `/v3/")) continue;
    std::istringstream words(line);
    std::string bar;
    std::string path;
    std::string method;
    words >> bar >> path >> bar >> method;
    rows.insert(path + " " + method);
  }
  return rows;
}

TEST(RoutesTest, ThePageListsThem) {
  std::set<std::string> rows;
  for (const Route& route : Routes()) {
    // "/etcdserverpb.KV/Range" as `KV.Range`.
    std::string method(route.method.substr(route.method.find('.') + 1));
    method[method.find('/')] = '.';
    rows.insert("`" + std::string(route.path) + "` `" + method + "`");
  }
  EXPECT_EQ(RoutesOfThePage(), rows);
}

TEST(RoutesTest, EveryMethodHasOneButThoseThatEtcdGivesNone) {
  std::set<std::string> routed;
  for (const Route& route : Routes()) routed.insert(std::string(route.method));
  std::set<std::string> without;
  std::set<std::string> all;
  for (const ApiMethod& method : ApiMethods()) {
    all.insert(method.Path());
    if (!routed.contains(method.Path())) without.insert(method.Path());
  }
  EXPECT_EQ(without,
            (std::set<std::string>{"/etcdserverpb.KV/RangeStream", "/grpc.health.v1.Health/Check",
                                   "/grpc.health.v1.Health/List", "/grpc.health.v1.Health/Watch"}));
  for (const std::string& method : routed) EXPECT_TRUE(all.contains(method)) << method;
}

TEST(RoutesTest, EachPathIsFoundOnce) {
  for (const Route& route : Routes()) EXPECT_EQ(FindRoute(route.path), &route);
  EXPECT_EQ(FindRoute("/v3/kv"), nullptr);
}

}  // namespace
}  // namespace kvorum::server::gateway
