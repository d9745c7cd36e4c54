#include "consul/http/instance_checks.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <vector>

#include "consul/model/api_json.h"

namespace kvorum::consul {
namespace {

bool ArePassing(const std::vector<CheckRecord>& checks) {
  return std::ranges::all_of(
      checks, [](const CheckRecord& check) { return check.health == Health::kPassing; });
}

// The API's order, however they were registered.
std::vector<const CheckRecord*> ById(const std::vector<CheckRecord>& checks) {
  std::vector<const CheckRecord*> sorted;
  sorted.reserve(checks.size());
  for (const CheckRecord& check : checks) sorted.push_back(&check);
  std::ranges::sort(sorted, {}, &CheckRecord::id);
  return sorted;
}

}  // namespace

void AppendNodeChecks(const NodeView& node, Json& checks) {
  if (!node.node->is_external)
    checks.push_back(SerfHealthJson(*node.node, node.is_alive, node.life_revision));
  for (const CheckRecord* check : ById(node.node->checks))
    checks.push_back(CheckJson(*node.node, *check));
}

void AppendServiceChecks(const ServiceRecord& service, Json& checks) {
  for (const CheckRecord* check : ById(service.checks))
    checks.push_back(CheckJson(service, *check));
}

bool IsPassing(const Instance& instance) {
  const NodeView& view = instance.node;
  return (view.node->is_external || view.is_alive) && ArePassing(view.node->checks) &&
         ArePassing(instance.service->checks);
}

}  // namespace kvorum::consul
