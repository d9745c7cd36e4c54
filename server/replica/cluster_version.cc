#include "server/replica/cluster_version.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/logging.h"
#include "server/messages/member_id.h"

namespace kvorum::server {

std::optional<Version> Version::Parse(std::string_view text) {
  text = text.substr(0, text.find('-'));
  Version version;
  const char* at = text.data();
  const char* const end = text.data() + text.size();
  for (std::uint32_t* part : {&version.major, &version.minor, &version.patch}) {
    if (part != &version.major) {
      if (at == end || *at != '.') return std::nullopt;
      ++at;
    }
    const auto [next, error] = std::from_chars(at, end, *part);
    if (error != std::errc{}) return std::nullopt;
    at = next;
  }
  if (at != end) return std::nullopt;
  return version;
}

std::string Version::text() const {
  return std::to_string(major) + "." + std::to_string(minor) + "." + std::to_string(patch);
}

std::map<raft::MemberId, PeerVersions> AskVersions(PeerRequester& peers,
                                                   const std::vector<Member>& members,
                                                   Duration timeout) {
  std::map<std::string, raft::MemberId> owners;
  std::vector<std::string> urls;
  for (const Member& member : members) {
    for (const std::string& url : member.peer_urls) {
      owners.emplace(url, member.id);
      urls.push_back(url);
    }
  }
  std::map<raft::MemberId, PeerVersions> versions;
  peers.AskAll(
      "GET", urls, "/version", timeout, [&](const std::string& url, Result<PeerAnswer> answer) {
        const raft::MemberId id = owners[url];
        if (!answer.has_value()) {
          KV_INFO("failed to reach the peer URL", {"remote-member-id", IdText(id)},
                  {"error", answer.error().message});
          return false;
        }
        const auto json = nlohmann::json::parse(answer->body, nullptr, false);
        if (!json.is_object()) return false;
        const auto text = [&](const char* name) {
          const auto it = json.find(name);
          return it != json.end() && it->is_string() ? it->get<std::string>() : std::string();
        };
        versions[id] = {.server = text("etcdserver"), .cluster = text("etcdcluster")};
        return versions.size() == members.size();
      });
  return versions;
}

std::optional<std::string> DecideClusterVersion(
    std::string_view current, const std::vector<std::optional<std::string>>& servers) {
  std::optional<Version> least;
  for (const auto& server : servers) {
    auto version = server.has_value() ? Version::Parse(*server) : std::nullopt;
    if (!version.has_value()) {
      // The version is not raised before all members are known.
      if (current.empty()) return kLowestClusterVersion.text();
      return std::nullopt;
    }
    version->patch = 0;
    least = least.has_value() ? std::min(*least, *version) : *version;
  }
  if (!least.has_value()) return std::nullopt;
  const auto now = Version::Parse(current);
  if (now.has_value() && *now >= *least) return std::nullopt;
  return least->text();
}

}  // namespace kvorum::server
