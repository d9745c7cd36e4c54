// Members as the log, the buckets and the API know them.
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
  std::string name;  // empty, as the client URLs, until the member has published itself
  std::vector<std::string> client_urls;

  bool started() const { return !name.empty(); }
  friend bool operator==(const Member&, const Member&) = default;
};

// The member as the log and the buckets hold it, the JSON of etcd's v2 attributes.
std::string EncodeMemberJson(const Member& member);
// kDataLoss for bytes that are no member.
Result<Member> DecodeMemberJson(std::string_view json);

// `name=url` pairs of --initial-cluster, with the ids they get from the token. Empty pairs are
// passed over. kInvalidArgument if a URL is none, or is used twice.
Result<std::vector<Member>> ParseInitialCluster(std::string_view initial_cluster,
                                                std::string_view cluster_token);

// One consistent state, immutable.
struct MembershipView {
  std::map<raft::MemberId, Member> members;
  std::set<raft::MemberId> removed;
  std::string cluster_version;  // "3.7.0"; empty until the leader has decided it
};

}  // namespace kvorum::server
