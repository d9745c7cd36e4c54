#include "api/entries/conf_state_json.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace kvorum::server {
namespace {

std::unexpected<Error> MalformedConfState() {
  return Fail(Code::kDataLoss, "membership: the stored configuration is malformed");
}

nlohmann::ordered_json ToJson(const std::vector<raft::MemberId>& ids) {
  auto json = nlohmann::ordered_json::array();
  for (const raft::MemberId id : ids) json.push_back(id.value());
  return json;
}

}  // namespace

std::string EncodeConfStateJson(const raft::ConfState& state) {
  nlohmann::ordered_json json;
  json["voters"] = ToJson(state.voters);
  if (!state.learners.empty()) json["learners"] = ToJson(state.learners);
  if (!state.voters_outgoing.empty()) json["voters_outgoing"] = ToJson(state.voters_outgoing);
  if (!state.learners_next.empty()) json["learners_next"] = ToJson(state.learners_next);
  json["auto_leave"] = state.auto_leave;
  return json.dump();
}

Result<raft::ConfState> DecodeConfStateJson(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return MalformedConfState();
  raft::ConfState state;
  for (const auto& [name, ids] :
       {std::pair("voters", &state.voters), std::pair("learners", &state.learners),
        std::pair("voters_outgoing", &state.voters_outgoing),
        std::pair("learners_next", &state.learners_next)}) {
    const auto it = json.find(name);
    if (it == json.end() || it->is_null()) continue;
    if (!it->is_array()) return MalformedConfState();
    for (const auto& id : *it) {
      if (!id.is_number_unsigned()) return MalformedConfState();
      ids->push_back(raft::MemberId{id.get<std::uint64_t>()});
    }
  }
  if (const auto it = json.find("auto_leave"); it != json.end()) {
    if (!it->is_boolean()) return MalformedConfState();
    state.auto_leave = it->get<bool>();
  }
  return state;
}

}  // namespace kvorum::server
