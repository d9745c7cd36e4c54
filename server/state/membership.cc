#include "server/state/membership.h"

#include <utility>

#include "api/entries/etcd_patches.h"

namespace kvorum::server {

Membership::Membership(MembershipView initial, raft::MemberId self) : self_(self) {
  Set(std::move(initial));
}

std::shared_ptr<const MembershipView> Membership::View() const {
  std::lock_guard lock(mutex_);
  return view_;
}

template <class Change>
void Membership::Replace(Change&& change) {
  MembershipView next = *View();
  change(next);
  Set(std::move(next));
}

void Membership::Set(MembershipView next) {
  const auto self = next.members.find(self_);
  is_learner_.store(self != next.members.end() && self->second.is_learner,
                    std::memory_order_relaxed);
  const auto version = Version::Parse(next.cluster_version);
  may_have_older_etcd_.store(!version.has_value() || !ReadsEntriesAlike(*version),
                             std::memory_order_relaxed);
  auto view = std::make_shared<const MembershipView>(std::move(next));
  std::lock_guard lock(mutex_);
  view_ = std::move(view);
}

bool Membership::SetAttributes(raft::MemberId id, std::string name,
                               std::vector<std::string> client_urls) {
  if (!View()->members.contains(id)) return false;
  Replace([&](MembershipView& view) {
    Member& member = view.members[id];
    member.name = std::move(name);
    member.client_urls = std::move(client_urls);
  });
  return true;
}

void Membership::SetDowngrade(DowngradeInfo downgrade) {
  Replace([&](MembershipView& view) { view.downgrade = std::move(downgrade); });
}

void Membership::SetClusterVersion(std::string version) {
  Replace([&](MembershipView& view) { view.cluster_version = std::move(version); });
}

}  // namespace kvorum::server
