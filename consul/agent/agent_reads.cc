#include "consul/agent/agent_reads.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/text/duration_text.h"
#include "consul/model/api_json.h"
#include "consul/model/filter.h"

namespace kvorum::consul {
namespace {

constexpr Duration kHashInterval = std::chrono::milliseconds(200);
constexpr Duration kDefaultWait = std::chrono::minutes(5);
constexpr Duration kMostWait = std::chrono::minutes(10);

// Nothing: the exchange was answered.
std::optional<Filter> FilterOf(Exchange& exchange, FilterRows rows) {
  auto filter = Filter::Parse(exchange.Parameter("filter").value_or(""), rows);
  if (filter) return *std::move(filter);
  exchange.Text(400, filter.error().message);
  return std::nullopt;
}

// The lines of the map in the order of their names, as Go writes maps.
Json MapOf(std::map<std::string, Json> lines) {
  Json json = Json::object();
  for (auto& [name, line] : lines) json[name] = std::move(line);
  return json;
}

Json ChecksJson(const ServiceRecord& service, const NodeRecord& node) {
  Json checks = Json::array();
  for (const CheckRecord& check : service.checks) checks.push_back(CheckJson(service, check));
  for (const CheckRecord& check : node.checks) checks.push_back(CheckJson(node, check));
  return checks;
}

std::string_view StatusOf(const ServiceRecord& service, const NodeRecord& node) {
  std::vector<CheckRecord> checks = service.checks;
  checks.insert(checks.end(), node.checks.begin(), node.checks.end());
  return AggregatedStatus(checks);
}

unsigned CodeOf(std::string_view status) {
  if (status == "passing") return 200;
  return status == "warning" ? 429 : 503;
}

// The worse of two, in the order in which clients see them.
std::string_view Worse(std::string_view a, std::string_view b) {
  for (const std::string_view status : {"maintenance", "critical", "warning"}) {
    if (a == status || b == status) return status;
  }
  return "passing";
}

bool WantsText(const Exchange& exchange) {
  if (const auto format = exchange.Parameter("format"); format.has_value())
    return *format == "text";
  return exchange.Header("accept").value_or("") == "text/plain";
}

Json HealthJson(const ServiceRecord& service, const NodeRecord& node, std::string_view datacenter) {
  return {{"AggregatedStatus", StatusOf(service, node)},
          {"Service", AgentServiceJson(service, datacenter)},
          {"Checks", ChecksJson(service, node)}};
}

}  // namespace

std::vector<Route> AgentReads::Routes() {
  return {
      {.path = "/v1/agent/services",
       .methods = "GET",
       .handle = [this](Exchange exchange) { Services(std::move(exchange)); }},
      {.path = "/v1/agent/service/",
       .methods = "GET",
       .handle = [this](Exchange exchange) { Service(std::move(exchange)); }},
      {.path = "/v1/agent/checks",
       .methods = "GET",
       .handle = [this](Exchange exchange) { Checks(std::move(exchange)); }},
      {.path = "/v1/agent/health/service/id/",
       .methods = "GET",
       .handle = [this](Exchange exchange) { HealthOfId(std::move(exchange)); }},
      {.path = "/v1/agent/health/service/name/",
       .methods = "GET",
       .handle = [this](Exchange exchange) { HealthOfName(std::move(exchange)); }},
  };
}

void AgentReads::Services(Exchange exchange) const {
  const auto filter = FilterOf(exchange, FilterRows::kNodeServices);
  if (!filter.has_value()) return;
  std::map<std::string, Json> lines;
  for (const ServiceRecord& service : View().Services()) {
    Json line = AgentServiceJson(service, parts_.datacenter);
    line.erase("ContentHash");
    if (filter->Takes(line)) lines.emplace(service.id, std::move(line));
  }
  exchange.OkJson(MapOf(std::move(lines)));
}

void AgentReads::Service(Exchange exchange) {
  const std::string hash = exchange.Parameter("hash").value_or("");
  Duration wait = kDefaultWait;
  if (const auto text = exchange.Parameter("wait"); text.has_value() && !text->empty()) {
    const auto parsed = ParseDuration(*text);
    if (!parsed) return exchange.Text(400, "Invalid wait time");
    if (*parsed > Duration::zero()) wait = std::min(*parsed, kMostWait);
  }
  const std::string id = exchange.rest();
  auto look = [this, exchange = std::move(exchange), hash, id](const LocalView& view,
                                                               bool is_over) mutable {
    const auto service = view.Service(id);
    if (!service.has_value()) {
      exchange.Text(404, "unknown service ID: " + id);
      return true;
    }
    const Json json = AgentServiceJson(*service, parts_.datacenter);
    const std::string now = json["ContentHash"].get<std::string>();
    if (!is_over && now == hash) return false;
    exchange.SetHeader("X-Consul-ContentHash", now);
    exchange.OkJson(json);
    return true;
  };
  waits_.Wait(kHashInterval, wait, std::move(look));
}

void AgentReads::Checks(Exchange exchange) const {
  const auto filter = FilterOf(exchange, FilterRows::kChecks);
  if (!filter.has_value()) return;
  std::map<std::string, Json> lines;
  const auto add = [&](const std::string& id, Json line) {
    if (filter->Takes(line)) lines.emplace(id, std::move(line));
  };
  const LocalView view = View();
  for (const ServiceRecord& service : view.Services()) {
    for (const CheckRecord& check : service.checks) add(check.id, CheckJson(service, check));
  }
  const NodeRecord node = view.Node();
  for (const CheckRecord& check : node.checks) add(check.id, CheckJson(node, check));
  exchange.OkJson(MapOf(std::move(lines)));
}

void AgentReads::HealthOfId(Exchange exchange) const {
  const LocalView view = View();
  const auto service = view.Service(exchange.rest());
  if (!service.has_value()) {
    if (WantsText(exchange))
      return exchange.Text(404, "ServiceId " + exchange.rest() + " not found");
    return exchange.JsonAnswer(
        404, {{"AggregatedStatus", "critical"}, {"Service", nullptr}, {"Checks", nullptr}});
  }
  const NodeRecord node = view.Node();
  const std::string_view status = StatusOf(*service, node);
  if (WantsText(exchange)) return exchange.Text(CodeOf(status), std::string(status));
  exchange.JsonAnswer(CodeOf(status), HealthJson(*service, node, parts_.datacenter));
}

void AgentReads::HealthOfName(Exchange exchange) const {
  const LocalView view = View();
  const NodeRecord node = view.Node();
  std::string_view worst = "passing";
  Json list = Json::array();
  for (const ServiceRecord& service : view.Services()) {
    if (service.name != exchange.rest()) continue;
    worst = Worse(worst, StatusOf(service, node));
    list.push_back(HealthJson(service, node, parts_.datacenter));
  }
  const bool is_known = !list.empty();
  if (WantsText(exchange)) {
    return is_known ? exchange.Text(CodeOf(worst), std::string(worst))
                    : exchange.Text(404, "ServiceName " + exchange.rest() + " Not Found");
  }
  exchange.JsonAnswer(is_known ? CodeOf(worst) : 404, list);
}

}  // namespace kvorum::consul
