#include "server/replica/recovery/joining.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "api/member_id.h"
#include "base/log/logging.h"
#include "base/net/resolved_url.h"
#include "base/words.h"
#include "server/replica/upkeep/cluster_version.h"

namespace kvorum::server {
namespace {

constexpr Duration kFetchTimeout = std::chrono::seconds(10);

UrlResolver ResolverOf(PeerRequester& peers) {
  return [&peers](const std::string& url) { return peers.Resolve(url); };
}

}  // namespace

std::string EncodeMembersJson(const MembershipView& view) {
  std::string body = "[";
  for (const auto& [id, member] : view.members) {
    if (body.size() > 1) body += ',';
    body += EncodeMemberJson(member);
  }
  return body + "]\n";
}

Result<std::vector<Member>> DecodeMembersJson(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_array()) return Fail(Code::kUnavailable, "a peer's list of members is malformed");
  std::vector<Member> members;
  for (const auto& item : json) {
    KV_TRY(Member member, DecodeMemberJson(item.dump()));
    members.push_back(std::move(member));
  }
  std::ranges::sort(members, {}, &Member::id);
  return members;
}

std::vector<std::string> OthersUrls(const std::vector<Member>& members, std::string_view name) {
  std::vector<std::string> urls;
  for (const Member& member : members) {
    if (member.name == name) continue;
    urls.insert(urls.end(), member.peer_urls.begin(), member.peer_urls.end());
  }
  std::ranges::sort(urls);
  return urls;
}

Result<RemoteCluster> FetchCluster(PeerRequester& peers, const std::vector<std::string>& urls,
                                   Duration timeout) {
  Result<RemoteCluster> cluster =
      Fail(Code::kUnavailable, "could not retrieve cluster information from the given URLs");
  peers.AskAll("GET", urls, "/members", timeout,
               [&](const std::string& url, Result<PeerAnswer> answer) {
                 if (!answer.has_value()) {
                   KV_INFO("failed to get cluster response", {"address", url},
                           {"error", answer.error().message});
                   return false;
                 }
                 auto members = DecodeMembersJson(answer->body);
                 const auto id = ParseIdText(answer->cluster_id);
                 if (!members.has_value() || !id.has_value()) {
                   KV_INFO("failed to unmarshal cluster response", {"address", url},
                           {"cluster-id", answer->cluster_id});
                   return false;
                 }
                 if (members->empty()) {
                   // It has not joined itself yet; another one may know more.
                   if (!cluster.has_value()) {
                     cluster = Fail(Code::kUnavailable,
                                    "failed to get raft cluster member(s) from the given URLs");
                   }
                   return false;
                 }
                 cluster = RemoteCluster{.id = *id, .members = *std::move(members)};
                 return true;
               });
  return cluster;
}

Result<std::vector<Member>> MatchMembers(PeerRequester& peers, std::vector<Member> local,
                                         const RemoteCluster& remote) {
  if (local.size() != remote.members.size())
    return Fail(Code::kFailedPrecondition, "member count is unequal");
  for (const Member& member : remote.members) {
    const auto match = std::ranges::find_if(local, [&](const Member& candidate) {
      return SameUrls(ResolverOf(peers), member.peer_urls, candidate.peer_urls);
    });
    if (match == local.end()) {
      return Fail(Code::kFailedPrecondition, "PeerURLs: no match found for existing member (" +
                                                 IdText(member.id) + ", [" +
                                                 Join(member.peer_urls, " ") + "])");
    }
    match->id = member.id;
    match->is_learner = member.is_learner;
  }
  std::ranges::sort(local, {}, &Member::id);
  return local;
}

bool IsCompatible(PeerRequester& peers, const std::vector<Member>& members, raft::MemberId self,
                  Duration timeout) {
  std::vector<Member> others = members;
  std::erase_if(others, [&](const Member& member) { return member.id == self; });
  bool compatible = false;
  for (const auto& [id, versions] : AskVersions(peers, others, timeout)) {
    const auto cluster = Version::Parse(versions.cluster);
    if (!cluster.has_value()) continue;
    if (*cluster < kLowestClusterVersion || kOwnClusterVersion < *cluster) {
      KV_WARN("cluster version of remote member is not compatible",
              {"remote-member-id", IdText(id)},
              {"remote-member-cluster-version", versions.cluster});
      return false;
    }
    compatible = true;
  }
  return compatible;
}

// A member publishes its client URLs when it has started: this one had a log.
Result<void> CheckNotStarted(const RemoteCluster& cluster, raft::MemberId self) {
  const auto known = std::ranges::find(cluster.members, self, &Member::id);
  if (known == cluster.members.end() || known->client_urls.empty()) return {};
  const std::string id = IdText(self);
  return Fail(
      Code::kFailedPrecondition,
      "member " + id +
          " has already been started, and this data directory is empty: what "
          "it acknowledged is lost, and with its vote the cluster could lose it, too. Remove "
          "the member and add it anew: kvorumctl member remove " +
          id + "; kvorumctl member add " + known->name + " --peer-urls=" +
          Join(known->peer_urls, ",") + "; then start with the --initial-cluster that this prints");
}

Result<Joined> JoinCluster(PeerRequester& peers, const std::vector<Member>& local,
                           const std::string& name, Duration request_timeout) {
  const auto remote = FetchCluster(peers, OthersUrls(local, name), kFetchTimeout);
  if (!remote.has_value()) {
    return Fail(remote.error().code,
                "cannot fetch cluster info from peer urls: " + remote.error().message);
  }
  auto matched = MatchMembers(peers, local, *remote);
  if (!matched.has_value()) {
    return Fail(matched.error().code, "error validating peerURLs of cluster " + IdText(remote->id) +
                                          ": " + matched.error().message);
  }
  const auto self = std::ranges::find(*matched, name, &Member::name);
  KV_RETURN_IF_ERROR(CheckNotStarted(*remote, self->id));
  if (!IsCompatible(peers, remote->members, self->id, request_timeout))
    return Fail(Code::kFailedPrecondition, "incompatible with current running cluster");
  return Joined{.cluster_id = remote->id, .self = self->id, .members = remote->members};
}

Result<void> CheckNotBootstrapped(PeerRequester& peers, const std::vector<Member>& local,
                                  const std::string& name, Duration timeout) {
  const auto remote = FetchCluster(peers, OthersUrls(local, name), timeout);
  if (!remote.has_value()) return {};
  const auto self = std::ranges::find(local, name, &Member::name);
  const auto known = std::ranges::find(remote->members, self->id, &Member::id);
  if (known == remote->members.end() || known->client_urls.empty()) return {};
  return Fail(Code::kFailedPrecondition,
              "member " + IdText(self->id) + " has already been bootstrapped");
}

}  // namespace kvorum::server
