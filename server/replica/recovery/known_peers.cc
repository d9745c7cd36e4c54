#include "server/replica/recovery/known_peers.h"

#include <utility>

#include "api/member_id.h"
#include "base/log/logging.h"
#include "server/replica/recovery/joining.h"

namespace kvorum::server {

Result<void> KnownPeers::Check(const MembershipView& view, std::uint64_t cluster_id,
                               const LocalMemberOptions& options) {
  if (view.removed.contains(self_)) {
    return Fail(Code::kFailedPrecondition,
                "the member has been permanently removed from the cluster; data-dir used by this "
                "member must be removed");
  }
  if (view.members.contains(self_) || !remotes_.empty() || !options.join_existing ||
      options.peers == nullptr)
    return {};
  KV_TRY(const std::vector<Member> members,
         ParseInitialCluster(options.initial_cluster, options.initial_cluster_token));
  auto cluster =
      FetchCluster(*options.peers, OthersUrls(members, options.name), options.bootstrap_timeout);
  if (!cluster.has_value()) {
    KV_WARN("cannot fetch cluster info from peer urls", {"error", cluster.error().message});
    return {};
  }
  if (cluster->id != cluster_id) {
    return Fail(Code::kFailedPrecondition,
                "the data directory is of cluster " + IdText(cluster_id) +
                    ", the peers are of cluster " + IdText(cluster->id) +
                    ": cluster ID mismatch; remove the data directory to join theirs");
  }
  remotes_ = std::move(cluster->members);
  return {};
}

std::shared_ptr<const MembershipView> KnownPeers::View(std::shared_ptr<const MembershipView> view,
                                                       raft::Index applied) const {
  const bool is_forced = applied < forced_until_;
  if (!is_forced && remotes_.empty()) return view;
  MembershipView peers = *view;
  if (is_forced) {
    std::erase_if(peers.members, [&](const auto& entry) { return entry.first != self_; });
  } else {
    for (const Member& member : remotes_) {
      if (!peers.removed.contains(member.id)) peers.members.emplace(member.id, member);
    }
  }
  return std::make_shared<const MembershipView>(std::move(peers));
}

}  // namespace kvorum::server
