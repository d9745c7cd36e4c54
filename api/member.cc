#include "api/member.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "api/member_id.h"
#include "base/net/url.h"
#include "base/words.h"

namespace kvorum::server {

namespace {

// Go writes JSON that is safe within HTML and JavaScript. These characters occur in strings only.
std::string EscapeAsGo(std::string_view json) {
  constexpr std::pair<std::string_view, std::string_view> kEscapes[] = {
      {"<", "\\u003c"},
      {">", "\\u003e"},
      {"&", "\\u0026"},
      {"\xe2\x80\xa8", "\\u2028"},
      {"\xe2\x80\xa9", "\\u2029"}};
  std::string out;
  out.reserve(json.size());
  while (!json.empty()) {
    const auto* const escape = std::ranges::find_if(
        kEscapes, [&](const auto& each) { return json.starts_with(each.first); });
    if (escape == std::end(kEscapes)) {
      out += json.front();
      json.remove_prefix(1);
    } else {
      out += escape->second;
      json.remove_prefix(escape->first.size());
    }
  }
  return out;
}

}  // namespace

std::string EncodeMemberJson(const Member& member) {
  nlohmann::ordered_json json;
  json["id"] = member.id.value();
  json["peerURLs"] = member.peer_urls;
  if (member.peer_urls.empty()) json["peerURLs"] = nullptr;  // Go has no list then
  if (member.is_learner) json["isLearner"] = true;
  if (!member.name.empty()) json["name"] = member.name;
  if (!member.client_urls.empty()) json["clientURLs"] = member.client_urls;
  return EscapeAsGo(json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

Result<Member> DecodeMemberJson(std::string_view text) {
  const auto refuse = [] {
    return Fail(Code::kDataLoss, "membership: a member's record is malformed");
  };
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return refuse();
  Member member;
  const auto strings = [&](const char* name, std::vector<std::string>& out) {
    const auto it = json.find(name);
    if (it == json.end() || it->is_null()) return true;
    if (!it->is_array()) return false;
    for (const auto& item : *it) {
      if (!item.is_string()) return false;
      out.push_back(item.get<std::string>());
    }
    return true;
  };
  const auto id = json.find("id");
  if (id == json.end() || !id->is_number_unsigned()) return refuse();
  member.id = raft::MemberId{id->get<std::uint64_t>()};
  if (!strings("peerURLs", member.peer_urls) || !strings("clientURLs", member.client_urls))
    return refuse();
  if (const auto it = json.find("isLearner"); it != json.end()) {
    if (!it->is_boolean()) return refuse();
    member.is_learner = it->get<bool>();
  }
  if (const auto it = json.find("name"); it != json.end()) {
    if (!it->is_string()) return refuse();
    member.name = it->get<std::string>();
  }
  return member;
}

Result<std::vector<Member>> ParseInitialCluster(std::string_view initial_cluster,
                                                std::string_view cluster_token) {
  std::map<std::string, std::vector<std::string>> texts_by_name;
  for (const std::string_view pair : Split(initial_cluster, ',')) {
    if (pair.empty()) continue;
    const auto [name, url] = Cut(pair, '=');
    // A bare name has an empty URL, which is invalid.
    texts_by_name[std::string(name)].emplace_back(url.value_or(""));
  }
  std::vector<Member> members;
  std::vector<std::string> pairs;
  std::set<std::string> all_urls;
  for (const auto& [name, texts] : texts_by_name) {
    const auto urls = ParseUrlList(texts);
    if (!urls.has_value()) {
      return Fail(Code::kInvalidArgument,
                  "error setting up initial cluster: " + urls.error().message);
    }
    Member member;
    for (const Url& url : *urls) {
      member.peer_urls.push_back(url.text());
      pairs.push_back(name + "=" + url.text());
      all_urls.insert(url.text());
    }
    member.id = ComputeMemberId(member.peer_urls, cluster_token, std::nullopt);
    member.name = name;
    members.push_back(std::move(member));
  }
  if (all_urls.size() != pairs.size()) {
    std::ranges::sort(pairs);
    std::string cluster;
    for (const std::string& pair : pairs) cluster += (cluster.empty() ? "" : ",") + pair;
    return Fail(Code::kInvalidArgument, "initial cluster " + cluster + " has duplicate url");
  }
  std::ranges::sort(members, {}, &Member::id);
  return members;
}

}  // namespace kvorum::server
