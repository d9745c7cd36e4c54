#include "server/replica/recovery/force_new_cluster.h"

#include <algorithm>
#include <utility>

#include "server/state/member_change.h"

namespace kvorum::server {
namespace {

// The members once everything committed is applied.
Result<MembershipView> CommittedView(const ForcedFrom& from) {
  MembershipView view = from.applied_view;
  for (const raft::Entry& entry : from.entries) {
    if (entry.index <= from.applied || entry.index > from.committed ||
        entry.type != raft::EntryType::kConfChange)
      continue;
    KV_TRY(const raft::ConfChange encoded, raft::DecodeConfChange(entry.data));
    KV_TRY(const MemberChange change, DecodeMemberChange(encoded));
    if (CheckMemberChange(view, change).has_value())
      view = ApplyMemberChange(std::move(view), change);
  }
  return view;
}

}  // namespace

Result<raft::Index> ForcedCommit(std::span<const raft::Entry> entries, raft::Index known_committed,
                                 raft::MemberId self) {
  raft::Index last = known_committed;
  for (const raft::Entry& entry : entries) {
    if (entry.index <= known_committed) continue;
    if (entry.type == raft::EntryType::kConfChange) {
      KV_TRY(const raft::ConfChange change, raft::DecodeConfChange(entry.data));
      if (change.type == raft::ConfChangeType::kRemoveNode && change.node_id == self) break;
    }
    last = entry.index;
  }
  return last;
}

Result<std::vector<raft::Entry>> MakeForcedChanges(const ForcedFrom& from) {
  KV_TRY(const MembershipView view, CommittedView(from));
  if (view.removed.contains(from.self)) {
    return Fail(Code::kFailedPrecondition,
                "--force-new-cluster: the member has been permanently removed from the cluster");
  }
  std::vector<MemberChange> changes;
  const auto self = view.members.find(from.self);
  if (self == view.members.end()) {
    Member member;
    member.id = from.self;
    member.peer_urls = from.own_peer_urls;
    std::ranges::sort(member.peer_urls);
    changes.push_back(MemberChange::Add(std::move(member)));
  } else if (self->second.is_learner) {
    changes.push_back(MemberChange::Promote(from.self));
  }
  for (const auto& [id, member] : view.members) {
    if (id != from.self) changes.push_back(MemberChange::Remove(id));
  }
  std::vector<raft::Entry> entries;
  raft::Index index = from.committed;
  for (const MemberChange& change : changes) {
    entries.push_back({.term = from.term,
                       .index = ++index,
                       .type = raft::EntryType::kConfChange,
                       .data = SharedBytes::Own(raft::Encode(EncodeMemberChange(0, change)))});
  }
  return entries;
}

}  // namespace kvorum::server
