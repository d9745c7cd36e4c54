#include "server/integrity/etcd_hashes.h"

#include <algorithm>
#include <utility>

#include "api/member_id.h"
#include "base/log/logging.h"
#include "mvcc/store/store.h"
#include "server/call/reads.h"
#include "server/replica/upkeep/cluster_version.h"
#include "server/state/membership.h"

namespace kvorum::server {
namespace {

constexpr Duration kVersionTimeout = std::chrono::seconds(1);
constexpr Duration kCompareAllInterval = std::chrono::hours(1);

}  // namespace

EtcdComparison CompareWithEtcd(const mvcc::KvHash& own,
                               const std::vector<PeerHashAnswer>& answers) {
  EtcdComparison comparison;
  for (const PeerHashAnswer& answer : answers) {
    if (!answer.hash.has_value()) continue;
    const mvcc::KvHash& theirs = answer.hash->hash;
    if (theirs.compact_revision != own.compact_revision) continue;
    if (own.Agrees(theirs.hash)) {
      ++comparison.equal;
    } else {
      comparison.different.push_back(&answer);
    }
  }
  return comparison;
}

void EtcdHashes::Start() {
  executor_.PostAt(executor_.clock().Now() + interval_, [this] { LookInTurn(); });
}

void EtcdHashes::LookInTurn() {
  Look();
  executor_.PostAt(executor_.clock().Now() + interval_, [this] { LookInTurn(); });
}

void EtcdHashes::Look() {
  const auto view = reads_.cluster.membership.View();
  const MembershipView etcd = FindEtcdMembers(*view);
  std::erase_if(known_, [&](raft::MemberId id) { return !view->members.contains(id); });
  bool is_new = false;
  for (const auto& [id, member] : etcd.members) is_new |= known_.insert(id).second;
  if (known_.empty()) counters_.agree = true;
  if (etcd.members.empty()) return;
  const TimePoint now = executor_.clock().Now();
  if (is_new) compare_all_at_ = now;
  if (CompareCompactions(etcd) && !is_new) compare_all_at_ = now + kCompareAllInterval;
  if (now < compare_all_at_) return;
  const auto own = reads_.store.HashKv(0);
  if (own.has_value() && Compare(*own, etcd)) compare_all_at_ = now + kCompareAllInterval;
}

MembershipView EtcdHashes::FindEtcdMembers(const MembershipView& all) const {
  std::vector<Member> others;
  for (const auto& [id, member] : all.members)
    if (id != reads_.cluster.member_id) others.push_back(member);
  MembershipView etcd;
  for (const auto& [id, versions] :
       AskVersions(peers_, others, kVersionTimeout, Unreached::kIsSilent))
    if (versions.is_etcd) etcd.members.emplace(id, all.members.at(id));
  return etcd;
}

// The newest that can be compared. A member that is behind has none of it yet.
bool EtcdHashes::CompareCompactions(const MembershipView& etcd) {
  std::vector<mvcc::KvHash> hashes = reads_.store.compaction_hashes();
  std::ranges::sort(hashes, std::ranges::greater{}, &mvcc::KvHash::revision);
  for (const mvcc::KvHash& hash : hashes) {
    if (hash.revision <= checked_revision_) return false;
    if (!Compare(hash, etcd)) continue;
    checked_revision_ = hash.revision;
    return true;
  }
  return false;
}

bool EtcdHashes::Compare(const mvcc::KvHash& own, const MembershipView& etcd) {
  const auto answers = AskPeerHashes(peers_, etcd,
                                     {.cluster_id = reads_.cluster.cluster_id,
                                      .self = reads_.cluster.member_id,
                                      .timeout = reads_.limits.request_timeout},
                                     own.revision);
  const EtcdComparison found = CompareWithEtcd(own, answers);
  for (const PeerHashAnswer* const other : found.different) {
    KV_ERROR("an etcd member holds different keys", {"remote-peer-id", IdText(other->id)},
             {"revision", own.revision}, {"compact-revision", own.compact_revision},
             {"hash", own.hash}, {"remote-peer-hash", other->hash->hash.hash});
  }
  if (!found.different.empty()) {
    counters_.agree = false;
    return true;
  }
  if (found.equal == 0) return false;
  counters_.agree = true;
  counters_.revision = own.revision;
  return true;
}

}  // namespace kvorum::server
