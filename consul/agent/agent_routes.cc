#include "consul/agent/agent_routes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "consul/agent/agent_info.h"
#include "consul/agent/agent_reads.h"
#include "consul/agent/agent_writes.h"
#include "consul/agent/critical_reaper.h"
#include "consul/agent/view_waits.h"

namespace kvorum::consul {

struct AgentRoutes::Impl {
  explicit Impl(AgentParts its_parts)
      : parts(std::move(its_parts)),
        waits(parts.syncer, parts.executor, parts.node),
        reads(parts, waits),
        writes(parts, waits),
        info(parts),
        reaper(parts) {}

  const AgentParts parts;
  ViewWaits waits;
  AgentReads reads;
  AgentWrites writes;
  AgentInfo info;
  CriticalReaper reaper;
};

AgentRoutes::AgentRoutes(AgentParts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}

AgentRoutes::~AgentRoutes() = default;

std::vector<Route> AgentRoutes::Routes() {
  std::vector<Route> routes = impl_->info.Routes();
  std::ranges::move(impl_->reads.Routes(), std::back_inserter(routes));
  std::ranges::move(impl_->writes.Routes(), std::back_inserter(routes));
  return routes;
}

}  // namespace kvorum::consul
