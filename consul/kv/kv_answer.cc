#include "consul/kv/kv_answer.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/base64.h"
#include "base/text/go_number.h"

namespace kvorum::consul {

Json PairJson(const KvPair& pair, bool has_value) {
  Json json = {{"LockIndex", pair.lock_index}, {"Key", pair.key}, {"Flags", pair.flags}};
  json["Value"] = nullptr;
  if (has_value && !pair.value.empty()) json["Value"] = EncodeBase64(Base64::kStandard, pair.value);
  if (!pair.session.empty()) json["Session"] = pair.session;
  json["CreateIndex"] = pair.create_revision;
  json["ModifyIndex"] = pair.mod_revision;
  return json;
}

std::vector<std::string> KeyNames(const std::vector<KvPair>& pairs, std::string_view prefix,
                                  const std::optional<std::string>& separator) {
  std::vector<std::string> names;
  for (const KvPair& pair : pairs) {
    std::string name = pair.key;
    if (separator && !separator->empty()) {
      const std::size_t found = name.find(*separator, prefix.size());
      if (found != std::string::npos) name.resize(found + separator->size());
    }
    if (names.empty() || names.back() != name) names.push_back(std::move(name));
  }
  return names;
}

bool HasOneOf(Exchange& exchange, const std::vector<std::string>& names) {
  std::string given;
  int count = 0;
  for (const std::string& name : names) {
    const std::optional<std::string> value = exchange.Parameter(name);
    if (!value) continue;
    ++count;
    given += (given.empty() ? "" : "&") + name + "=" + *value;
  }
  if (count <= 1) return true;
  exchange.Text(400, "Conflicting flags: " + given + "\n");
  return false;
}

std::optional<std::uint64_t> NumberOf(Exchange& exchange, std::string_view name) {
  const std::optional<std::string> text = exchange.Parameter(name);
  if (!text) return 0;
  const Result<std::uint64_t> number = ParseUint(*text, 10);
  if (number) return *number;
  exchange.Text(500, number.error().message);
  return std::nullopt;
}

std::vector<Route> WithoutSlashes(std::vector<Route> routes) {
  std::vector<Route> all = routes;
  for (Route& route : routes) {
    if (!route.path.ends_with('/')) continue;
    route.path.pop_back();
    all.push_back(std::move(route));
  }
  return all;
}

}  // namespace kvorum::consul
