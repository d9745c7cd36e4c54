// Members in the log, the buckets and the API.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "proto/raft_types.h"

namespace kvorum::server {

struct Member {
  raft::MemberId id = raft::kNone;
  std::vector<std::string> peer_urls;
  bool is_learner = false;
  std::string name;  // empty, like the client URLs, until the member has published itself
  std::vector<std::string> client_urls;

  bool started() const { return !name.empty(); }
  friend bool operator==(const Member&, const Member&) = default;
};

// The member as stored in the log and the buckets, the JSON of etcd's v2 attributes.
std::string EncodeMemberJson(const Member& member);
// kDataLoss for bytes that are not a member.
Result<Member> DecodeMemberJson(std::string_view json);

// Parses the `name=url` pairs of --initial-cluster, with the ids that follow from the token. Empty
// pairs are ignored. kInvalidArgument if a URL is invalid, or used twice.
Result<std::vector<Member>> ParseInitialCluster(std::string_view initial_cluster,
                                                std::string_view cluster_token);

// A downgrade of the cluster; without a downgrade under way it has no target.
struct DowngradeInfo {
  bool enabled = false;
  std::string target_version = {};  // "3.6.0"
  friend bool operator==(const DowngradeInfo&, const DowngradeInfo&) = default;
};

// One consistent state, immutable.
struct MembershipView {
  std::map<raft::MemberId, Member> members;
  std::set<raft::MemberId> removed;
  std::string cluster_version;  // "3.7.0"; empty until the leader has decided it
  DowngradeInfo downgrade = {};
};

}  // namespace kvorum::server
