#include "tests/sim/judges/oracle.h"

#include <fmt/core.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "api/downgrade.h"
#include "base/api_errors.h"
#include "base/crc32c.h"
#include "raft/node.h"
#include "server/replica/recovery/joining.h"
#include "server/state/alarms.h"
#include "server/state/member_change.h"

namespace kvorum::sim {
namespace {

std::string_view RoleName(raft::Role role) {
  switch (role) {
    case raft::Role::kFollower:
      return "follower";
    case raft::Role::kPreCandidate:
      return "pre-candidate";
    case raft::Role::kCandidate:
      return "candidate";
    case raft::Role::kLeader:
      return "leader";
  }
  return "";
}

}  // namespace

Oracle::View& Oracle::ViewOf(Machine& machine) {
  View& view = views_[machine.number()];
  if (view.life != machine.life()) view = View{.life = machine.life()};
  return view;
}

Oracle::CommittedEntry Oracle::Digest(const raft::Entry& entry) {
  const std::uint32_t checksum = Crc32c(static_cast<std::uint32_t>(entry.type), entry.data.view());
  return {.term = entry.term, .checksum = checksum};
}

void Oracle::AfterRaft(Machine& machine) {
  const raft::Node& node = machine.local_member().replica().node();
  View& view = ViewOf(machine);
  const raft::Index commit = node.log().committed();
  if (commit < view.commit)
    world_.Fail("{}: the commit index went back from {} to {}", machine.name(), view.commit,
                commit);
  // A log is compacted up to an index applied before this task, so the index is a snapshot's.
  if (view.has_run && node.log().snapshot_index() > view.commit)
    view.installing = node.log().snapshot_index();
  view.has_run = true;
  if (commit > view.commit) {
    CheckCommitted(machine, node.log(), view.commit + 1, commit);
    view.commit = commit;
    if (std::exchange(view.awaits_commit, false) && node.role() == raft::Role::kLeader)
      on_first_commit(machine);
  }
  if (node.term() < view.term)
    world_.Fail("{}: the term went back from {} to {}", machine.name(), view.term, node.term());
  const raft::MemberId vote = node.hard_state().vote;
  if (std::exchange(view.vote, vote) != vote && vote != raft::kNone && vote != node.id())
    on_voted(machine);
  if (node.role() != view.role || node.term() != view.term) {
    world_.Note("{} is {} in term {}, commit {}", machine.name(), RoleName(node.role()),
                node.term(), commit);
    if (node.role() == raft::Role::kLeader) {
      CheckLeader(machine, node);
      view.awaits_commit = true;
      on_elected(machine);
    }
    view.role = node.role();
    view.term = node.term();
  }
}

// Entries from the index on that a member knows to be committed are those that others know.
void Oracle::CheckCommitted(const Machine& machine, const raft::Log& log, raft::Index from,
                            raft::Index to) {
  for (raft::Index index = std::max(from, log.first_index()); index <= to; ++index) {
    const raft::Entry& entry = log.Range(index, index).front();
    const CommittedEntry digest = Digest(entry);
    if (index <= committed()) {
      if (committed_[index.value() - 1] != digest) {
        world_.Fail("{}: another entry is committed at index {} (term {}) than elsewhere (term {})",
                    machine.name(), index, digest.term, committed_[index.value() - 1].term);
      }
      continue;
    }
    if (index != committed() + 1) {
      return world_.Fail("{}: entries up to {} are committed, and nobody has seen those from {}",
                         machine.name(), to, committed() + 1);
    }
    committed_.push_back(digest);
    on_committed(entry);
  }
  if (to > committed()) {
    world_.Fail("{}: entries up to {} are committed, and nobody has seen those from {}",
                machine.name(), to, committed() + 1);
  }
}

void Oracle::CheckLeader(Machine& machine, const raft::Node& node) {
  const auto [leader, is_new] = leaders_.emplace(node.term(), node.id());
  if (!is_new && leader->second != node.id()) {
    world_.Fail("two leaders in term {}: {:x} and {:x}", node.term(), leader->second, node.id());
  }
  // Leader completeness: of what leaders before it have committed. One that learns of its votes so
  // late that a later one has led already need not have what that one committed.
  if (leaders_.rbegin()->first != node.term()) return;
  const raft::Log& log = node.log();
  if (log.last_index() < committed()) {
    world_.Fail("{} leads in term {} with a log that ends at {}, though {} is committed",
                machine.name(), node.term(), log.last_index(), committed());
    return;
  }
  CheckCommitted(machine, log, log.first_index(), committed());
}

void Oracle::AfterApply(Machine& machine) {
  server::LocalMember& local_member = machine.local_member();
  View& view = ViewOf(machine);
  const raft::Index applied = local_member.replica().applied_index();
  const std::int64_t revision = local_member.store().revision();
  if (revision < view.revision) {
    world_.Fail("{}: the revision went back from {} to {}", machine.name(), view.revision,
                revision);
  }
  if (revision > view.revision) {
    // A new process is asked about revisions not yet reported, and about its newest state.
    const std::int64_t from =
        view.revision == 0 ? std::min(states_.last_revision() + 1, revision) : view.revision + 1;
    ObserveStates(machine, from, revision);
    view.revision = revision;
  }
  // Entries already in the backend are applied again without an effect: until the log has caught up
  // with it, index and revision do not belong together.
  if (applied > view.applied &&
      applied.value() >= local_member.store().recovered().consistent_index) {
    const auto [known, is_new] = revision_at_.emplace(applied, revision);
    if (!is_new && known->second != revision) {
      world_.Fail("{} has revision {} at applied index {}, another member had {}", machine.name(),
                  revision, applied, known->second);
    }
    CheckMembers(machine, applied);
  }
  view.applied = std::max(view.applied, applied);
  if (view.installing != 0 && view.installing <= applied) {
    world_.faults.Add(Fault::kSnapshotInstalled);
    world_.Note("{} goes on from a snapshot of index {}", machine.name(), view.installing);
    view.installing = 0;
  }
}

// Members and alarms are the same at an equal applied index.
void Oracle::CheckMembers(Machine& machine, raft::Index applied) {
  View& view = ViewOf(machine);
  auto members = machine.local_member().membership().View();
  if (members != view.members) {
    std::string text = server::EncodeMembersJson(*members) + members->cluster_version +
                       server::EncodeDowngradeJson(members->downgrade);
    for (const raft::MemberId id : members->removed) text += fmt::format(" {:x}", id);
    view.members_digest = Crc32c(0, text);
    view.members = members;
  }
  std::uint32_t digest = view.members_digest;
  for (const server::Alarm& alarm : machine.local_member().alarms().List())
    digest = Crc32c(digest, server::AlarmText(alarm));
  const auto [known, is_new] = members_at_.emplace(applied, digest);
  if (!is_new && known->second != digest) {
    world_.Fail("{} has other members or alarms at applied index {} than another member had: {}",
                machine.name(), applied, server::EncodeMembersJson(*members));
  }
  if (applied <= newest_applied_) return;
  newest_applied_ = applied;
  if (newest_members_ == nullptr || newest_members_->members != members->members ||
      newest_members_->removed != members->removed)
    newest_members_index_ = applied;
  newest_members_ = std::move(members);
}

// Raft counts those that the members are, once it knows how far they are applied.
void Oracle::CheckConfState(Machine& machine) {
  const raft::Node& node = machine.local_member().replica().node();
  if (node.log().applied() != machine.local_member().replica().applied_index() ||
      node.log().applied().value() < machine.local_member().store().recovered().consistent_index)
    return;
  const raft::ConfState counted = ConfStateOf(*machine.local_member().membership().View());
  if (node.conf_state() != counted) {
    world_.Fail("{} counts {} voters and {} learners in Raft, and has {} and {} at index {}",
                machine.name(), node.conf_state().voters.size(), node.conf_state().learners.size(),
                counted.voters.size(), counted.learners.size(), node.log().applied());
  }
}

void Oracle::OnEnding(Machine& machine) {
  if (ViewOf(machine).installing != 0) world_.faults.Add(Fault::kCrashWhileInstalling);
}

void Oracle::ObserveStates(Machine& machine, std::int64_t from, std::int64_t to) {
  auto view = machine.local_member().store().Read();
  if (!view.has_value())
    return world_.Fail("{}: cannot be read: {}", machine.name(), view.error().message);
  for (std::int64_t revision = std::max<std::int64_t>(from, 2); revision <= to; ++revision) {
    const auto result = view->Range({.key = "k", .range_end = "l", .revision = revision});
    if (!result.has_value()) {
      if (result.error() == kErrCompacted) continue;
      return world_.Fail("{}: revision {} cannot be read: {}", machine.name(), revision,
                         result.error().message);
    }
    std::vector<std::string> rows;
    for (std::size_t i = 0; i < result->rows.size(); ++i) rows.emplace_back(result->rows[i]);
    states_.Observe(machine.name(), revision, std::move(rows));
  }
}

void Oracle::CheckAll() {
  std::int64_t least_revision = 0;
  for (const auto& machine : machines_) {
    if (!machine->up()) continue;
    server::LocalMember& local_member = machine->local_member();
    local_member.CheckInvariants();
    CheckConfState(*machine);
    const std::int64_t revision = local_member.store().revision();
    least_revision = least_revision == 0 ? revision : std::min(least_revision, revision);
    for (const auto& other : machines_) {
      if (other->up() && other->number() < machine->number()) CheckLogsMatch(*machine, *other);
    }
  }
  for (const auto& machine : machines_) {
    const bool is_spoiled = world_.spoiled == machine->number();
    if (machine->up() && least_revision > 1 && !is_spoiled) CheckHash(*machine, least_revision);
  }
}

// Two logs with an equal entry are equal up to it.
void Oracle::CheckLogsMatch(Machine& a, Machine& b) {
  const raft::Log& log_a = a.local_member().replica().node().log();
  const raft::Log& log_b = b.local_member().replica().node().log();
  const raft::Index first = std::max(log_a.first_index(), log_b.first_index());
  bool equal = false;
  for (raft::Index index = std::min(log_a.last_index(), log_b.last_index()); index >= first;
       --index) {
    const raft::Entry& entry_a = log_a.Range(index, index).front();
    const raft::Entry& entry_b = log_b.Range(index, index).front();
    if (entry_a.term == entry_b.term) {
      equal = true;
      if (entry_a.data != entry_b.data || entry_a.type != entry_b.type)
        world_.Fail("{} and {} have different entries at {} of term {}", a.name(), b.name(), index,
                    entry_a.term);
    } else if (equal) {
      world_.Fail("the logs of {} and {} differ at {}, and are equal behind it", a.name(), b.name(),
                  index);
    }
  }
}

void Oracle::CheckHash(Machine& machine, std::int64_t revision) {
  const auto hash = machine.local_member().store().HashKv(revision);
  if (!hash.has_value()) {
    if (hash.error() == kErrCompacted) return;
    return world_.Fail("{}: no hash at revision {}: {}", machine.name(), revision,
                       hash.error().message);
  }
  const auto [known, is_new] =
      hashes_.emplace(std::pair(hash->revision, hash->compact_revision), hash->hash);
  if (!is_new && known->second != hash->hash) {
    world_.Fail("{}: HashKV at revision {} (compacted {}) is {:08x}, another member had {:08x}",
                machine.name(), hash->revision, hash->compact_revision, hash->hash, known->second);
  }
}

void Oracle::CheckEqual(const std::vector<Machine*>& members) {
  std::vector<std::string> contents;
  for (Machine* machine : members) {
    mvcc::Store& store = machine->local_member().store();
    CheckHash(*machine, store.revision());
    std::string content;
    for (const mvcc::Bucket bucket :
         {mvcc::Bucket::kAlarm, mvcc::Bucket::kCluster, mvcc::Bucket::kMembers,
          mvcc::Bucket::kMembersRemoved, mvcc::Bucket::kLease, mvcc::Bucket::kAuth,
          mvcc::Bucket::kAuthUsers, mvcc::Bucket::kAuthRoles}) {
      const auto read = store.ForEach(bucket, [&](std::string_view key, std::string_view value) {
        content += fmt::format("{}/{}={}\n", mvcc::BucketName(bucket), key, value);
      });
      if (!read.has_value())
        world_.Fail("{}: cannot be read: {}", machine->name(), read.error().message);
    }
    contents.push_back(std::move(content));
    if (contents.back() != contents.front()) {
      world_.Fail("{} and {} have different small buckets:\n{}and\n{}", members.front()->name(),
                  machine->name(), contents.front(), contents.back());
    }
  }
}

}  // namespace kvorum::sim
