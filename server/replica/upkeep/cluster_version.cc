#include "server/replica/upkeep/cluster_version.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <limits>
#include <nlohmann/json.hpp>

#include "api/member_id.h"
#include "api/version.h"
#include "base/api_errors.h"
#include "base/log/logging.h"
#include "base/text/parse_number.h"
#include "base/words.h"

namespace kvorum::server {

namespace {

// Letters, digits and dashes, in parts between dots.
bool IsIdentifier(std::string_view text) {
  bool is_part = false;
  for (const char c : text) {
    const bool is_dot = c == '.';
    if (is_dot ? !is_part : std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-')
      return false;
    is_part = !is_dot;
  }
  return is_part;
}

// By the rules of Go's semver package: numbers of 63 bits, an empty suffix counts as none. A number
// that no version has stands for all such.
std::optional<Version> ParseSemantic(std::string_view text) {
  for (const char separator : {'+', '-'}) {
    const std::size_t at = text.find(separator);
    if (at == std::string_view::npos) continue;
    if (const auto suffix = text.substr(at + 1); !suffix.empty() && !IsIdentifier(suffix))
      return std::nullopt;
    text = text.substr(0, at);
  }
  const auto parts = Split(text, '.');
  std::array<std::uint32_t, 3> numbers{};
  if (parts.size() != numbers.size()) return std::nullopt;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const auto number = ParseNumber<std::int64_t>(parts[i]);
    if (!number.has_value() || *number < 0) return std::nullopt;
    numbers[i] = static_cast<std::uint32_t>(
        std::min<std::int64_t>(*number, std::numeric_limits<std::uint32_t>::max() - 1));
  }
  return Version{.major = numbers[0], .minor = numbers[1], .patch = numbers[2]};
}

}  // namespace

std::map<raft::MemberId, PeerVersions> AskVersions(PeerRequester& peers,
                                                   const std::vector<Member>& members,
                                                   Duration timeout, Unreached unreached) {
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
          if (unreached == Unreached::kIsLogged)
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
        versions[id] = {.server = text("etcdserver"),
                        .cluster = text("etcdcluster"),
                        .is_etcd = !json.contains(kIsKvorum)};
        return versions.size() == members.size();
      });
  return versions;
}

std::optional<std::string> DecideClusterVersion(
    std::string_view current, const DowngradeInfo& downgrade,
    const std::vector<std::optional<std::string>>& servers) {
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
  if (!now.has_value()) return least->text();
  if (downgrade.enabled) {
    const auto target = Version::Parse(downgrade.target_version);
    if (target == now) return std::nullopt;
    if (target.has_value() && IsDowngrade(*now, *target) && IsDowngrade(*least, *target))
      return target->text();
    KV_ERROR("Cannot downgrade from cluster-version to downgrade-target",
             {"downgrade-target", downgrade.target_version}, {"cluster-version", now->text()},
             {"minimal-server-version", least->text()});
    return std::nullopt;
  }
  if (*now >= *least) return std::nullopt;
  return least->text();
}

Result<Version> ParseDowngradeTarget(std::string_view text) {
  std::optional<Version> target = ParseSemantic(text);
  if (!target.has_value()) target = ParseSemantic(std::string(text) + ".0");
  if (!target.has_value()) return kErrWrongDowngradeVersionFormat.Fail();
  return Version{.major = target->major, .minor = target->minor, .patch = 0};
}

bool IsDowngrade(Version from, Version target) {
  return from.major == target.major && from.minor == target.minor + 1 && target.patch == 0;
}

}  // namespace kvorum::server
