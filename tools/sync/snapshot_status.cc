#include "tools/sync/snapshot_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tools/sync/snapshot_events.h"

namespace kvorum::ctl {
namespace {

sync::Json TypeItem(const sync::SubscriptionState& state) {
  return {{"type", state.type},
          {"version", state.version},
          {"nonce", state.nonce},
          {"acknowledged", state.acknowledged},
          {"refused", state.refused},
          // It was cut where it may have been within a character.
          {"refusal", OneLine(state.refusal)}};
}

Result<sync::SubscriptionState> ReadTypeItem(const sync::Json& item) {
  sync::SubscriptionState state;
  KV_TRY(state.type, sync::StringOf(item, "type"));
  KV_TRY(state.version, sync::StringOf(item, "version"));
  KV_TRY(state.nonce, sync::StringOf(item, "nonce"));
  KV_TRY(state.acknowledged, sync::StringOf(item, "acknowledged"));
  KV_TRY(state.refused, sync::StringOf(item, "refused"));
  KV_TRY(state.refusal, sync::StringOf(item, "refusal"));
  return state;
}

bool Refuses(const sync::NodeState& node) {
  return std::ranges::any_of(node.subscriptions,
                             [](const auto& state) { return !state.refused.empty(); });
}

// A response waits for its answer.
bool IsBehind(const sync::NodeState& node) {
  return std::ranges::any_of(node.subscriptions, [](const auto& state) {
    return state.nonce != state.acknowledged && state.nonce != state.refused;
  });
}

}  // namespace

sync::Json SnapshotStatusItem(const sync::NodeState& state) {
  sync::Json types = sync::Json::array();
  for (const auto& subscription : state.subscriptions) types.push_back(TypeItem(subscription));
  return {{"node", state.node}, {"reason", state.last_reason}, {"types", std::move(types)}};
}

Result<sync::NodeState> ReadSnapshotStatusItem(const sync::Json& item) {
  sync::NodeState state;
  KV_TRY(state.node, sync::StringOf(item, "node"));
  KV_TRY(state.last_reason, sync::StringOf(item, "reason"));
  KV_TRY(const sync::Json types, sync::ArrayOf(item, "types"));
  for (const sync::Json& type : types) {
    KV_TRY(sync::SubscriptionState subscription, ReadTypeItem(type));
    state.subscriptions.push_back(std::move(subscription));
  }
  return state;
}

Table SnapshotStatusTable(const std::vector<sync::NodeState>& states) {
  Table table{.header = {"node", "type", "version", "nonce", "acknowledged", "refused", "refusal",
                         "last reason"},
              .rows = {}};
  for (const auto& node : states) {
    const std::string name = OneLine(node.node);
    if (node.subscriptions.empty())
      table.rows.push_back({name, "", "", "", "", "", "", node.last_reason});
    for (const auto& state : node.subscriptions)
      table.rows.push_back({name, OneLine(state.type), state.version, state.nonce,
                            state.acknowledged, state.refused, OneLine(state.refusal),
                            node.last_reason});
  }
  return table;
}

std::string SnapshotStatusLine(const std::vector<sync::NodeState>& states) {
  const auto counted = [](std::size_t count, const char* one, const char* many) {
    return std::to_string(count) + (count == 1 ? one : many);
  };
  std::string line = counted(states.size(), " subscriber", " subscribers");
  const auto refuse = static_cast<std::size_t>(std::ranges::count_if(states, Refuses));
  const auto behind = static_cast<std::size_t>(std::ranges::count_if(states, IsBehind));
  if (refuse != 0) line += ", " + counted(refuse, " refuses", " refuse");
  if (behind != 0) line += ", " + counted(behind, " is behind", " are behind");
  return line;
}

}  // namespace kvorum::ctl
