#include "consul/agent/agent_routes.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "consul/agent/agent_info.h"
#include "consul/agent/agent_reads.h"
#include "consul/agent/agent_reports.h"
#include "consul/agent/agent_writes.h"
#include "consul/agent/critical_reaper.h"
#include "consul/agent/own_records.h"
#include "consul/agent/view_waits.h"
#include "consul/agent/write_questions.h"

namespace kvorum::consul {

struct AgentRoutes::Impl {
  explicit Impl(AgentParts its_parts)
      : parts(std::move(its_parts)),
        waits(parts.syncer, parts.executor, parts.node),
        questions(parts.syncer, parts.executor),
        reads(parts, waits),
        writes(parts, questions, waits),
        reports(parts, questions),
        info(parts, questions),
        reaper(parts),
        own_records(parts) {}
  // Requests that wait go on in what ends before the questions do.
  ~Impl() { questions.Stop(); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  const AgentParts parts;
  ViewWaits waits;
  WriteQuestions questions;
  AgentReads reads;
  AgentWrites writes;
  AgentReports reports;
  AgentInfo info;
  CriticalReaper reaper;
  OwnRecords own_records;
};

AgentRoutes::AgentRoutes(AgentParts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}

AgentRoutes::~AgentRoutes() = default;

std::vector<Route> AgentRoutes::Routes() {
  std::vector<Route> routes = impl_->info.Routes();
  std::ranges::move(impl_->reads.Routes(), std::back_inserter(routes));
  std::ranges::move(impl_->writes.Routes(), std::back_inserter(routes));
  std::ranges::move(impl_->reports.Routes(), std::back_inserter(routes));
  return routes;
}

}  // namespace kvorum::consul
