// The members of the cluster, and its version: replicated state made by configuration changes and
// attribute entries of the log, stored in the buckets `members`, `members_removed` and `cluster`.
//
// Written by the apply executor only; View() and the flags may be called by any thread.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "api/member.h"
#include "proto/raft_types.h"

namespace kvorum::server {

class Membership {
 public:
  explicit Membership(MembershipView initial, raft::MemberId self = raft::kNone);

  std::shared_ptr<const MembershipView> View() const;
  raft::MemberId self() const { return self_; }
  // True if this member has no vote. Cheap: called for every request.
  bool is_learner() const { return is_learner_.load(std::memory_order_relaxed); }

  // False once the cluster's version tells that no member is an etcd before 3.7, which needs
  // entries of another form (api/entries/older_entry.h). Cheap, too.
  bool may_have_older_etcd() const { return may_have_older_etcd_.load(std::memory_order_relaxed); }

  // Each replaces the view; the caller writes the buckets.
  void Set(MembershipView next);
  // Returns false if there is no such member.
  bool SetAttributes(raft::MemberId id, std::string name, std::vector<std::string> client_urls);
  void SetClusterVersion(std::string version);
  void SetDowngrade(DowngradeInfo downgrade);

 private:
  template <class Change>
  void Replace(Change&& change);

  const raft::MemberId self_;
  std::atomic<bool> is_learner_{false};
  std::atomic<bool> may_have_older_etcd_{true};
  mutable std::mutex mutex_;  // guards the pointer only
  std::shared_ptr<const MembershipView> view_;
};

}  // namespace kvorum::server
