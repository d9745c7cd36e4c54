// Who belongs to the cluster, and what version it runs at: the replicated state that configuration
// changes and attribute entries of the log make, stored in the buckets `members`, `members_removed`
// and `cluster`.
//
// Written by the apply executor only; View() and is_learner() may be called by any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
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

class Membership {
 public:
  explicit Membership(MembershipView initial, raft::MemberId self = raft::kNone);

  std::shared_ptr<const MembershipView> View() const;
  raft::MemberId self() const { return self_; }
  // Whether this member is one that has no vote. Cheap: asked for every request.
  bool is_learner() const { return is_learner_.load(std::memory_order_relaxed); }

  // Each replaces the view; the caller writes the buckets.
  void Set(MembershipView next);
  // False if there is no such member.
  bool SetAttributes(raft::MemberId id, std::string name, std::vector<std::string> client_urls);
  void SetClusterVersion(std::string version);

 private:
  template <class Change>
  void Replace(Change&& change);

  const raft::MemberId self_;
  std::atomic<bool> is_learner_{false};
  mutable std::mutex mutex_;  // guards the pointer only
  std::shared_ptr<const MembershipView> view_;
};

}  // namespace kvorum::server
