#include "consul/http/selection.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text/go_number.h"

namespace kvorum::consul {
namespace {

constexpr std::string_view kOwnNode = "_agent";

}  // namespace

std::optional<Selection> Selection::Of(Exchange& exchange, const std::string& own_node,
                                       FilterRows rows) {
  Selection selection;
  for (const std::string& text : exchange.Parameters("node-meta")) {
    const std::size_t sign = std::min(text.find(':'), text.size());
    selection.node_meta_.emplace_back(text.substr(0, sign),
                                      text.substr(std::min(sign + 1, text.size())));
  }
  selection.tags_ = exchange.Parameters("tag");
  if (const auto near = exchange.Parameter("near"))
    selection.near_ = *near == kOwnNode ? own_node : *near;
  if (const auto passing = exchange.Parameter("passing")) {
    const auto value = passing->empty() ? Result<bool>(true) : ParseBool(*passing);
    if (!value) {
      exchange.Text(400, "Invalid value for ?passing");
      return std::nullopt;
    }
    selection.only_passing_ = *value;
  }
  if (const auto text = exchange.Parameter("filter"); text && !text->empty()) {
    auto filter = Filter::Parse(*text, rows);
    if (!filter) {
      exchange.Text(400, filter.error().message);
      return std::nullopt;
    }
    selection.filter_ = *std::move(filter);
  }
  return selection;
}

bool Selection::TakesNode(const NodeRecord& node) const {
  return std::ranges::all_of(node_meta_, [&](const auto& wanted) {
    const auto found = node.details.meta.find(wanted.first);
    return found != node.details.meta.end() && found->second == wanted.second;
  });
}

bool Selection::TakesTags(const std::vector<std::string>& tags) const {
  return std::ranges::all_of(tags_, [&](const std::string& wanted) {
    return std::ranges::find(tags, wanted) != tags.end();
  });
}

bool Selection::TakesInstance(const Instance& instance) const {
  return TakesNode(*instance.node.node) && TakesTags(instance.service->details.tags);
}

bool Selection::TakesJson(const Json& item) const { return !filter_ || filter_->Takes(item); }

void Selection::SortNodes(std::vector<NodeView>& nodes) const {
  if (near_.empty()) return;
  std::ranges::stable_partition(nodes,
                                [&](const NodeView& view) { return view.node->node == near_; });
}

void Selection::SortInstances(std::vector<Instance>& instances) const {
  if (near_.empty()) return;
  std::ranges::stable_partition(
      instances, [&](const Instance& instance) { return instance.node.node->node == near_; });
}

}  // namespace kvorum::consul
