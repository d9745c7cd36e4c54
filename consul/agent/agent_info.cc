#include "consul/agent/agent_info.h"

#include <array>
#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "consul/agent/local_view.h"

namespace kvorum::consul {
namespace {

// Serf's numbers of a member's states.
constexpr int kAlive = 1;
constexpr int kFailed = 4;
constexpr int kGossipPort = 8301;

Json MemberJson(std::string_view name, std::string_view address, std::string_view id,
                std::string_view datacenter, int status) {
  return {{"Name", name},        {"Addr", address},
          {"Port", kGossipPort}, {"Tags", {{"dc", datacenter}, {"id", id}, {"role", "node"}}},
          {"Status", status},    {"ProtocolMin", 1},
          {"ProtocolMax", 5},    {"ProtocolCur", 2},
          {"DelegateMin", 2},    {"DelegateMax", 5},
          {"DelegateCur", 4}};
}

Json GaugeJson(std::string_view name, std::size_t value) {
  return {{"Name", name}, {"Value", value}, {"Labels", Json::object()}};
}

std::size_t ChecksOf(const LocalView& view) {
  std::size_t count = view.NodeChecks().size();
  for (const ServiceRecord& service : view.Services()) count += service.checks.size();
  return count;
}

}  // namespace

std::vector<Route> AgentInfo::Routes() {
  std::vector<Route> routes;
  const auto add = [&](std::string path, std::string methods,
                       void (AgentInfo::*handle)(Exchange) const) {
    const bool writes = methods == "PUT";
    routes.push_back(
        {.path = std::move(path),
         .methods = std::move(methods),
         .writes = writes,
         .handle = [this, handle](Exchange exchange) { (this->*handle)(std::move(exchange)); }});
  };
  const auto refuse = [&](std::string path, std::string methods, std::string why) {
    const bool writes = methods == "PUT";
    routes.push_back(
        {.path = std::move(path),
         .methods = std::move(methods),
         .writes = writes,
         .handle = [why = std::move(why)](Exchange exchange) { exchange.Text(501, why); }});
  };
  add("/v1/agent/self", "GET", &AgentInfo::Self);
  add("/v1/agent/members", "GET", &AgentInfo::Members);
  add("/v1/agent/version", "GET", &AgentInfo::Version);
  add("/v1/agent/host", "GET", &AgentInfo::Host);
  add("/v1/agent/metrics", "GET", &AgentInfo::Metrics);
  add("/v1/agent/reload", "PUT", &AgentInfo::Reload);
  add("/v1/agent/leave", "PUT", &AgentInfo::Leave);
  add("/v1/agent/force-leave/", "PUT", &AgentInfo::ForceLeave);
  refuse("/v1/agent/join/", "PUT", "agent/join is not supported here: agents meet in the store");
  refuse("/v1/agent/token/", "PUT",
         "agent/token is not supported here: the agent's own credentials are flags of its command");
  refuse("/v1/agent/monitor", "GET", "agent/monitor is not supported here");
  return routes;
}

void AgentInfo::Self(Exchange exchange) const {
  const NodeDetails& details = parts_.details;
  const LocalView view(parts_.syncer, parts_.node);
  const Json config = {{"Datacenter", parts_.datacenter},
                       {"PrimaryDatacenter", parts_.datacenter},
                       {"NodeName", parts_.node},
                       {"NodeID", details.id},
                       {"Revision", ""},
                       {"Server", false},
                       {"Version", parts_.version},
                       {"BuildDate", ""}};
  const Json coordinate = {{"Vec", Json::array({0, 0, 0, 0, 0, 0, 0, 0})},
                           {"Error", 1.5},
                           {"Adjustment", 0},
                           {"Height", 1e-05}};
  const Json stats = {{"agent",
                       {{"checks", std::to_string(ChecksOf(view))},
                        {"services", std::to_string(view.Services().size())}}},
                      {"build", {{"version", parts_.version}}},
                      {"consul", {{"server", "false"}}}};
  exchange.OkJson(
      {{"Config", config},
       {"DebugConfig", Json::object()},
       {"Coord", coordinate},
       {"Member", MemberJson(parts_.node, details.address, details.id, parts_.datacenter, kAlive)},
       {"Stats", stats},
       {"Meta", details.meta.empty() ? Json::object() : Json(details.meta)}});
}

void AgentInfo::Members(Exchange exchange) const {
  Json members = Json::array();
  const std::vector<NodeView> nodes = parts_.nodes ? parts_.nodes() : std::vector<NodeView>();
  bool has_self = false;
  for (const NodeView& view : nodes) {
    if (view.node == nullptr || view.node->is_external) continue;
    const bool is_self = view.node->node == parts_.node;
    has_self = has_self || is_self;
    const NodeDetails& details = view.node->details;
    members.push_back(MemberJson(view.node->node, details.address, details.id, parts_.datacenter,
                                 is_self || view.is_alive ? kAlive : kFailed));
  }
  if (!has_self) {
    members.push_back(MemberJson(parts_.node, parts_.details.address, parts_.details.id,
                                 parts_.datacenter, kAlive));
  }
  exchange.OkJson(members);
}

void AgentInfo::Version(Exchange exchange) const {
  exchange.OkJson({{"SHA", ""}, {"BuildDate", ""}, {"HumanVersion", parts_.version}, {"FIPS", ""}});
}

void AgentInfo::Host(Exchange exchange) const {
  exchange.OkJson({{"Memory", nullptr},
                   {"CPU", nullptr},
                   {"Host", {{"hostname", parts_.node}}},
                   {"Disk", nullptr},
                   {"CollectionTime", parts_.executor.clock().WallNanos()},
                   {"Errors", nullptr}});
}

void AgentInfo::Metrics(Exchange exchange) const {
  if (exchange.Parameter("format").value_or("") == "prometheus") {
    return exchange.Text(
        501, "agent/metrics in Prometheus' format is not supported here: see --metrics-address");
  }
  const LocalView view(parts_.syncer, parts_.node);
  const sync::SyncerStatus status = parts_.syncer.status();
  const std::chrono::sys_seconds now{std::chrono::seconds(parts_.executor.clock().WallSeconds())};
  const auto text = [&](const char* format) {
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    std::tm parts{};
    gmtime_r(&seconds, &parts);
    std::array<char, 64> buffer{};
    return std::string(buffer.data(), std::strftime(buffer.data(), buffer.size(), format, &parts));
  };
  Json gauges = Json::array();
  gauges.push_back(GaugeJson("consul.agent.services", view.Services().size()));
  gauges.push_back(GaugeJson("consul.agent.checks", ChecksOf(view)));
  gauges.push_back(GaugeJson("consul.agent.dirty", status.dirty));
  exchange.OkJson({{"Timestamp", text("%Y-%m-%d %H:%M:%S +0000 UTC")},
                   {"Gauges", std::move(gauges)},
                   {"Points", Json::array()},
                   {"Counters", Json::array()},
                   {"Samples", Json::array()}});
}

void AgentInfo::IfAllowed(Exchange exchange, WriteQuestions::GoOn go_on) const {
  if (exchange.token().empty()) return go_on(std::move(exchange));
  WriteQuestion question{.places = {sync::PlaceOfNode()}, .token = exchange.token()};
  questions_.Ask(std::move(exchange), {std::move(question)}, std::move(go_on));
}

void AgentInfo::Reload(Exchange exchange) const {
  IfAllowed(std::move(exchange), [this](Exchange allowed) {
    const Result<void> done = parts_.on_reload ? parts_.on_reload() : Result<void>();
    done ? allowed.Ok() : allowed.Text(500, done.error().message);
  });
}

void AgentInfo::Leave(Exchange exchange) const {
  IfAllowed(std::move(exchange), [this](Exchange allowed) {
    parts_.syncer.Leave([exchange = std::move(allowed),
                         on_left = parts_.on_left](const Result<void>& left) mutable {
      left ? exchange.Ok() : exchange.Text(500, left.error().message);
      if (on_left) on_left();
    });
  });
}

void AgentInfo::ForceLeave(Exchange exchange) const {
  if (exchange.rest().empty()) return exchange.Text(400, "Missing node name");
  if (!parts_.on_force_leave) return exchange.Text(501, "agent/force-leave is not supported here");
  IfAllowed(std::move(exchange), [this](Exchange allowed) {
    const std::string node = allowed.rest();
    parts_.on_force_leave(node, [exchange = std::move(allowed)](const Result<void>& done) mutable {
      if (done) return exchange.Ok();
      if (done.error().code == Code::kNotFound)
        return exchange.Text(500, "agent: No node found with name '" + exchange.rest() + "'");
      exchange.StoreError(done.error());
    });
  });
}

}  // namespace kvorum::consul
