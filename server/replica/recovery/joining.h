// The information that a member without data gets from the others before its log begins: the
// cluster that it joins, and its own id there; or, for a new cluster, that it had been part of it
// before. The checks and their texts are etcd's.
//
// Blocks its thread while it asks peers; used before the member runs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/member.h"
#include "base/error.h"
#include "server/peer/transport/peer_request.h"

namespace kvorum::server {

// A list of members, as peers answer /members.
std::string EncodeMembersJson(const MembershipView& view);
Result<std::vector<Member>> DecodeMembersJson(std::string_view text);

struct RemoteCluster {
  std::uint64_t id = 0;
  std::vector<Member> members;  // by id
};

// The first answer, from whichever peer; all are asked at the same time.
Result<RemoteCluster> FetchCluster(PeerRequester& peers, const std::vector<std::string>& urls,
                                   Duration timeout);

// The members of --initial-cluster with the ids that the cluster gave them: each must exist there
// with the same URLs, and no other.
Result<std::vector<Member>> MatchMembers(PeerRequester& peers, std::vector<Member> local,
                                         const RemoteCluster& remote);

// True if the members run at a cluster version that this program supports: at least one must say
// so, and none otherwise.
bool IsCompatible(PeerRequester& peers, const std::vector<Member>& members, raft::MemberId self,
                  Duration timeout);

// The peer URLs of all other members, in order.
std::vector<std::string> OthersUrls(const std::vector<Member>& members, std::string_view name);

struct Joined {
  std::uint64_t cluster_id = 0;
  raft::MemberId self = raft::kNone;
  std::vector<Member> members;  // as the cluster knows them: for the first connections
};
// kFailedPrecondition if the member that joins has run before: its data is lost.
Result<void> CheckNotStarted(const RemoteCluster& cluster, raft::MemberId self);
// The whole procedure for --initial-cluster-state=existing. `local` are the members of
// --initial-cluster.
Result<Joined> JoinCluster(PeerRequester& peers, const std::vector<Member>& local,
                           const std::string& name, Duration request_timeout);

// kFailedPrecondition if a peer already knows this member of a new cluster as one that has run: its
// data is lost, and voting again without it could undo its earlier votes.
Result<void> CheckNotBootstrapped(PeerRequester& peers, const std::vector<Member>& local,
                                  const std::string& name, Duration timeout);

}  // namespace kvorum::server
