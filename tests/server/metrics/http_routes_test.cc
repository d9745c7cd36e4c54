// The routes of the ports over HTTP are those that the manual lists.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "server/metrics/metrics_http.h"
#include "server/metrics/pprof_http.h"
#include "server/replica/upkeep/defragment_turns.h"
#include "server/services/cluster/peer_http.h"
#include "server/services/maintenance/health.h"
#include "server/services/maintenance/http_handlers.h"
#include "tests/server/served_member.h"

namespace kvorum::server {
namespace {

// The first column of the table below a heading, sorted.
std::vector<std::string> Listed(const std::string& heading) {
  std::ifstream manual(KVORUM_HTTP_MANUAL);
  std::vector<std::string> routes;
  bool is_there = false;
  for (std::string line; std::getline(manual, line);) {
    if (line.starts_with("## ")) is_there = line == "## " + heading;
    if (is_there && line.starts_with("| `"))
      routes.push_back(line.substr(3, line.find('`', 3) - 3));
  }
  std::ranges::sort(routes);
  return routes;
}

class HttpRoutesTest : public testing::Test {
 protected:
  HttpRoutesTest() { EXPECT_TRUE(served_.Start().has_value()); }

  ServedMember served_;
};

TEST_F(HttpRoutesTest, OfTheClientPortsAreTheManuals) {
  Health health(served_.parts().reads, served_.quarantine(), served_.leader_streams());
  MetricsRegistry registry;
  ThreadExecutor executor("metrics");
  MetricsHttp metrics(registry, executor);
  const std::vector<std::string> arguments;
  PprofHttp pprof(arguments);
  rpc::HttpMux routes = ClientRoutes(served_.parts().cluster.membership, health);
  metrics.AddRoutes(routes);
  AddDebugVars(routes, served_.parts().cluster, arguments);
  pprof.AddRoutes(routes);
  EXPECT_EQ(routes.Paths(), Listed("Client ports"));
}

TEST_F(HttpRoutesTest, OfThePeerPortsAreTheManuals) {
  DefragmentTurns turns;
  EXPECT_EQ(PeerRoutes(served_.peer_parts(turns)).Paths(), Listed("Peer ports"));
}

}  // namespace
}  // namespace kvorum::server
