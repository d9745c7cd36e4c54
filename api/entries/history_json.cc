#include "api/entries/history_json.h"

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "api/member_id.h"

namespace kvorum::server {
namespace {

using mvcc::HistorySum;

// Pairs of a revision and a sum.
struct Pair {
  std::int64_t revision = 0;
  std::uint64_t sum = 0;
};

Result<std::vector<Pair>> Pairs(const nlohmann::json& object, const char* name,
                                std::size_t max_pairs) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_array() || found->size() > max_pairs)
    return Fail(Code::kUnknown, "not a member's history");
  std::vector<Pair> pairs;
  for (const auto& pair : *found) {
    const bool is_pair = pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() &&
                         pair[1].is_number_unsigned();
    if (!is_pair) return Fail(Code::kUnknown, "not a member's history");
    pairs.push_back({.revision = pair[0].get<std::int64_t>(), .sum = pair[1].get<std::uint64_t>()});
  }
  return pairs;
}

}  // namespace

std::string EncodeHistoryJson(const MemberHistory& of) {
  nlohmann::ordered_json json = {{"member", IdText(of.member)}, {"serves", of.serves}};
  json["bases"] = nlohmann::ordered_json::array();
  for (const auto& base : of.history.bases)
    json["bases"].push_back(nlohmann::ordered_json::array({base.compact_revision, base.sum}));
  json["points"] = nlohmann::ordered_json::array();
  for (const auto& point : of.history.points)
    json["points"].push_back(nlohmann::ordered_json::array({point.revision, point.added}));
  return json.dump();
}

Result<MemberHistory> DecodeHistoryJson(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return Fail(Code::kUnknown, "not a member's history");
  const auto member = json.find("member");
  const auto id = member != json.end() && member->is_string()
                      ? ParseMemberId(member->get<std::string>())
                      : std::nullopt;
  const auto serves = json.find("serves");
  if (!id.has_value() || serves == json.end() || !serves->is_boolean())
    return Fail(Code::kUnknown, "not a member's history");
  MemberHistory history{.member = *id, .serves = serves->get<bool>(), .history = {}};
  KV_TRY(const auto bases, Pairs(json, "bases", HistorySum::kMaxBases));
  KV_TRY(const auto points, Pairs(json, "points", HistorySum::kMaxPoints + 1));
  for (const Pair& base : bases)
    history.history.bases.push_back({.compact_revision = base.revision, .sum = base.sum});
  for (const Pair& point : points)
    history.history.points.push_back({.revision = point.revision, .added = point.sum});
  return history;
}

}  // namespace kvorum::server
