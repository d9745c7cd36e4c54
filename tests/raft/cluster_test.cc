// Several members under every possible fault: messages lost, repeated and reordered, partitions,
// crashes with torn writes, slow disks and state machines, lagging members that need snapshots,
// changes of the configuration, transfers. First anything goes and no promise of Raft may break
// (tests/raft/cluster.h checks that); then the faults end, and the cluster has to make progress
// again.
//
// KVORUM_RAFT_SEED=n runs that one seed, KVORUM_RAFT_SEEDS=n that many, and with KVORUM_RAFT_PRINT
// all that happens is printed.
#include "tests/raft/cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/rng.h"
#include "raft/bootstrap.h"
#include "tests/raft/describe.h"

namespace kvorum::raft {
namespace {

// The number of times that each fault and each rare code path occurred: a fault that never happens
// proves nothing.
struct Coverage {
  std::size_t elections = 0, committed = 0, reads = 0, crashes = 0, torn_writes = 0, partitions = 0,
              snapshots = 0, conf_changes = 0, joint_states = 0, transfers = 0, truncations = 0,
              lost_quorums = 0, refused_conf_changes = 0, disk_stalls = 0, stalled_leaders = 0,
              replaced_disks = 0, made_good = 0;

  void Add(const Coverage& other) {
    elections += other.elections;
    committed += other.committed;
    reads += other.reads;
    crashes += other.crashes;
    torn_writes += other.torn_writes;
    partitions += other.partitions;
    snapshots += other.snapshots;
    conf_changes += other.conf_changes;
    joint_states += other.joint_states;
    transfers += other.transfers;
    truncations += other.truncations;
    lost_quorums += other.lost_quorums;
    refused_conf_changes += other.refused_conf_changes;
    disk_stalls += other.disk_stalls;
    stalled_leaders += other.stalled_leaders;
    replaced_disks += other.replaced_disks;
    made_good += other.made_good;
  }
};

enum class Disks : std::uint8_t { kStay, kAreReplaced };

// One history, from one seed.
class History {
 public:
  explicit History(std::uint64_t seed, Disks disks = Disks::kStay)
      : rng_(seed), replaces_disks_(disks == Disks::kAreReplaced) {
    voters_ = 1 + rng_.Below(5);
    std::size_t spares = rng_.OneIn(2) ? 0 : 1 + rng_.Below(3);
    changes_conf_ = spares > 0 || rng_.OneIn(2);
    if (replaces_disks_) {
      voters_ = 3 + rng_.Below(3);
      spares = 0;
      changes_conf_ = false;
    }
    Config config{.pre_vote = !rng_.OneIn(4),
                  .check_quorum = !rng_.OneIn(4),
                  .takes_conf_change_v2 = true,
                  .max_append_size_bytes = rng_.OneIn(2) ? 1U : 300U,
                  .max_inflight_messages = 1 + rng_.Below(5),
                  .max_unapplied_size_bytes = rng_.OneIn(2) ? 400U : 4000U,
                  .max_applying_size_bytes = rng_.OneIn(2) ? 1U : 1000U,
                  .max_pending_reads = 20,
                  .catch_up_entries = rng_.Below(10)};
    std::vector<FirstMember> first(voters_);
    for (std::size_t i = 0; i < voters_; ++i)
      first[i] = {.id = MemberId{i + 1}, .context = SharedBytes::Static("{}")};
    const Bootstrap bootstrap = MakeBootstrap(first);
    for (std::size_t i = 0; i < voters_ + spares; ++i) {
      config.id = MemberId{i + 1};
      config.seed = rng_();
      // The others begin with nothing, as members that are yet to be added.
      cluster_.Add(config, i < voters_ ? Disk{.hard_state = bootstrap.hard_state,
                                              .entries = bootstrap.entries}
                                       : Disk{});
    }
  }

  void RunWithFaults(int steps) {
    for (int step = 0; step < steps; ++step) {
      RandomStep();
      if (step % 50 == 0) cluster_.CheckInvariants();
    }
    cluster_.CheckInvariants();
  }

  // Everything works from now on: within max_ticks all members must apply a proposal.
  void Heal(int max_ticks) {
    groups_.clear();
    stalled_disk_ = kNone;
    for (auto& [id, member] : cluster_.members()) {
      if (!member.is_up()) member.Start();
    }
    bool is_proposed = false;
    for (int tick = 0; tick < max_ticks; ++tick) {
      for (auto& [id, member] : cluster_.members()) member.node().Tick();
      Settle();
      Member* leader = Leader();
      if (leader == nullptr) continue;
      if (!is_proposed) {
        std::vector<SharedBytes> batch = {SharedBytes::Static("the last one")};
        is_proposed = leader->node().Propose(batch).accepted == 1;
        if (is_proposed) cluster_.Read(leader->id());
        Settle();
      }
      if (is_proposed && HasConverged(*leader)) return;
      if (is_proposed && tick % 50 == 49) is_proposed = false;  // a leader that fell took it along
    }
    for (auto& [id, member] : cluster_.members())
      ADD_FAILURE() << id << " " << DescribeStatus(member.node());
  }

  Coverage coverage() const {
    Coverage coverage = coverage_;
    coverage.elections = cluster_.elections();
    coverage.committed = cluster_.history().size();
    coverage.reads = cluster_.answered_reads();
    return coverage;
  }
  const std::string& text() const { return text_; }
  void KeepText() { keeps_text_ = true; }
  void PrintText() { prints_text_ = true; }

 private:
  void Note(MemberId id, const std::string& what) {
    if (keeps_text_) text_ += std::to_string(id.value()) + what;
    // At once: a broken promise ends the process.
    if (prints_text_) std::fprintf(stderr, "%lu%s", id.value(), what.c_str());
  }

  Member& Any() { return cluster_.member(MemberId{1 + rng_.Below(cluster_.members().size())}); }

  Member* Leader() {
    Member* leader = nullptr;
    for (auto& [id, member] : cluster_.members()) {
      if (!member.is_up() || member.node().role() != Role::kLeader) continue;
      if (leader == nullptr || member.node().term() > leader->node().term()) leader = &member;
    }
    return leader;
  }

  bool HasConverged(Member& leader) {
    if (cluster_.history().empty() || cluster_.history().back().data.view() != "the last one")
      return false;
    const Index last = leader.node().log().last_index();
    return std::ranges::all_of(leader.node().tracker().progress(), [&](const auto& item) {
      return cluster_.member(item.first).node().log().applied() == last;
    });
  }

  void TakeReady(Member& member) {
    if (!member.node().HasReady()) return;
    const bool was_leader = member.node().role() == Role::kLeader;
    const Ready ready = member.TakeReady();
    Note(member.id(), ": " + Describe(ready));
    for (const Event& event : ready.events) {
      coverage_.snapshots += event.type == EventType::kSnapshotRestored ? 1 : 0;
      coverage_.truncations += event.type == EventType::kLogTruncated ? 1 : 0;
      coverage_.lost_quorums += event.type == EventType::kQuorumLost ? 1 : 0;
      coverage_.refused_conf_changes += event.type == EventType::kConfChangeRefused ? 1 : 0;
      coverage_.conf_changes += event.type == EventType::kConfChanged ? 1 : 0;
      coverage_.disk_stalls += event.type == EventType::kDiskStalled ? 1 : 0;
      coverage_.made_good += event.type == EventType::kDataMadeGood ? 1 : 0;
      coverage_.stalled_leaders += event.type == EventType::kDiskStalled && was_leader ? 1 : 0;
    }
    for (const Message& message : ready.messages)
      coverage_.transfers += message.type == MessageType::kTimeoutNow ? 1 : 0;
    if (member.node().tracker().IsJoint()) ++coverage_.joint_states;
  }

  // True if messages pass between two members.
  bool IsConnected(MemberId a, MemberId b) const {
    return groups_.empty() || groups_[a.value() - 1] == groups_[b.value() - 1];
  }

  void Deliver(std::size_t position) {
    std::vector<Message>& network = cluster_.network();
    const Message message = network[position];
    const bool is_repeated = rng_.OneIn(30);
    if (!is_repeated) network.erase(network.begin() + static_cast<std::ptrdiff_t>(position));
    const bool is_lost =
        !IsConnected(message.from, message.to) || !cluster_.member(message.to).is_up();
    if (prints_text_) Note(message.to, (is_lost ? " loses " : " gets ") + Describe(message) + "\n");
    if (!is_lost) cluster_.Deliver(message);
    Member& sender = cluster_.member(message.from);
    if (!sender.is_up()) return;
    // The report of the transport to its own member.
    if (message.type == MessageType::kSnap) {
      sender.node().ReportSnapshot(message.to, !is_lost);
    } else if (is_lost && rng_.OneIn(3)) {
      sender.node().ReportUnreachable(message.to);
    }
  }

  void RandomStep() {
    switch (rng_.Below(24)) {
      case 0:
      case 1:
        for (auto& [id, member] : cluster_.members()) {
          if (member.is_up() && !rng_.OneIn(4)) member.node().Tick();
        }
        return;
      case 2:
      case 3:
      case 4:
      case 5:
        if (Member& member = Any(); member.is_up()) TakeReady(member);
        return;
      case 6:
      case 7:
      case 8:
        if (Member& member = Any();
            member.is_up() && member.HasWrites() && member.id() != stalled_disk_) {
          if (rng_.OneIn(2)) {
            member.PersistOne();
          } else {
            member.Persist();
          }
        }
        return;
      case 9:
      case 10:
        if (Member& member = Any(); member.is_up() && member.HasToApply()) member.ApplyOne();
        return;
      case 11:
      case 12:
      case 13:
      case 14:
      case 15:
      case 16:
        // Mostly in order, since a connection keeps it; but connections are remade.
        for (std::uint64_t i = rng_.Below(4); i > 0 && !cluster_.network().empty(); --i)
          Deliver(rng_.OneIn(3) ? rng_.Below(cluster_.network().size()) : 0);
        return;
      case 17:
        if (Member& member = Any(); member.is_up()) {
          std::vector<SharedBytes> batch(1 + rng_.Below(3));
          for (SharedBytes& data : batch)
            data = SharedBytes::Own("data " + std::to_string(++proposals_));
          member.node().Propose(batch);
        }
        return;
      case 18:
        if (Member& member = Any(); member.is_up()) cluster_.Read(member.id());
        return;
      case 19:
        if (Member& member = Any(); member.is_up() && rng_.OneIn(2)) member.Checkpoint();
        if (replaces_disks_ && rng_.OneIn(20)) {
          const Member& member = Any();
          older_disks_[member.id()] = member.disk();
        }
        return;
      case 20:
        CrashOrRestart();
        return;
      case 21:
        if (rng_.OneIn(8)) Partition();
        // A disk that stalls for long enough to be noticed.
        if (rng_.OneIn(stalled_disk_ == kNone ? 60 : 10))
          stalled_disk_ = stalled_disk_ == kNone ? Any().id() : kNone;
        return;
      case 22:
        if (changes_conf_ && rng_.OneIn(2)) ChangeConf();
        return;
      default:
        if (Member& member = Any(); member.is_up() && rng_.OneIn(10))
          member.node().TransferLeadership(Any().id());
        return;
    }
  }

  void CrashOrRestart() {
    Member& member = Any();
    if (!member.is_up()) {
      member.Start();
      return;
    }
    if (!rng_.OneIn(8)) return;
    if (replaces_disks_ && rng_.OneIn(2)) return ReplaceDisk(member);
    const std::size_t steps = member.UnsyncedSteps();
    const std::size_t surviving = rng_.Below(steps + 1);
    ++coverage_.crashes;
    if (surviving != 0 && surviving != steps) ++coverage_.torn_writes;
    member.Crash(surviving);
    Note(member.id(), " crashes\n");
  }

  // A majority of which two members have lost data may have lost what it committed, and a vote that
  // a member has forgotten may make two leaders: neither is tried.
  void ReplaceDisk(Member& member) {
    Member* leader = Leader();
    if (leader == nullptr || leader == &member) return;
    const auto is_ahead = [&](Term term) { return term > leader->node().term(); };
    for (auto& [id, other] : cluster_.members()) {
      if (!other.is_up() || other.node().lost_data().stands() || is_ahead(other.node().term()))
        return;
    }
    if (std::ranges::any_of(cluster_.network(), is_ahead, &Message::term)) return;
    const auto found = older_disks_.find(member.id());
    member.ReplaceDisk(found == older_disks_.end() ? Disk{} : found->second);
    // Its peers would tell it before it takes part.
    member.LoseData();
    ++coverage_.replaced_disks;
    Note(member.id(), " gets an older disk\n");
  }

  void Partition() {
    groups_.clear();
    if (rng_.OneIn(2)) return;  // whole again
    for (std::size_t i = 0; i < cluster_.members().size(); ++i) groups_.push_back(rng_.Below(2));
    ++coverage_.partitions;
  }

  void ChangeConf() {
    Member& member = Any();
    if (!member.is_up()) return;
    ConfChangeV2 change;
    if (!member.node().tracker().IsJoint() || rng_.OneIn(5)) {
      const std::uint64_t count = rng_.OneIn(2) ? 1 : 2 + rng_.Below(2);
      for (std::uint64_t i = 0; i < count; ++i) {
        constexpr ConfChangeType kTypes[] = {ConfChangeType::kAddNode, ConfChangeType::kAddNode,
                                             ConfChangeType::kRemoveNode,
                                             ConfChangeType::kAddLearnerNode};
        change.changes.push_back({.type = kTypes[rng_.Below(4)], .node_id = Any().id()});
      }
      change.transition = static_cast<ConfChangeTransition>(rng_.Below(3));
    }
    member.node().ProposeConfChange(EntryType::kConfChangeV2, SharedBytes::Own(Encode(change)));
  }

  // Everybody works until nothing is left to do.
  void Settle() {
    for (bool is_busy = true; is_busy;) {
      is_busy = false;
      for (auto& [id, member] : cluster_.members()) {
        is_busy |= member.node().HasReady() || member.HasWrites() || member.HasToApply();
        TakeReady(member);
        if (member.HasWrites()) member.Persist();
        member.ApplyAll();
      }
      std::vector<Message> messages = std::exchange(cluster_.network(), {});
      for (const Message& message : messages) {
        is_busy = true;
        cluster_.Deliver(message);
        if (message.type == MessageType::kSnap)
          cluster_.member(message.from).node().ReportSnapshot(message.to, true);
      }
    }
    // A joint configuration that is not left automatically.
    Member* leader = Leader();
    if (leader == nullptr || !leader->node().tracker().IsJoint()) return;
    leader->node().ProposeConfChange(EntryType::kConfChangeV2,
                                     SharedBytes::Own(Encode(ConfChangeV2{})));
  }

  Rng rng_;
  Cluster cluster_;
  std::size_t voters_ = 0;
  bool changes_conf_ = false;
  int proposals_ = 0;
  const bool replaces_disks_;
  std::map<MemberId, Disk> older_disks_;
  std::vector<std::uint64_t> groups_;  // by member; empty: no partition
  MemberId stalled_disk_ = kNone;
  Coverage coverage_;
  bool keeps_text_ = false;
  bool prints_text_ = false;
  std::string text_;
};

std::uint64_t NumberFromEnvironment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

// Runs `seeds` seeds, or the one that the environment asks for. Returns nothing if that was all, or
// one failed.
std::optional<Coverage> RunSeeds(std::uint64_t seeds, Disks disks) {
  const std::uint64_t only_seed = NumberFromEnvironment("KVORUM_RAFT_SEED", 0);
  Coverage coverage;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (only_seed != 0) seed = only_seed;
    SCOPED_TRACE("seed " + std::to_string(seed));
    if (only_seed != 0 || seeds > 1000000) std::printf("seed %lu\n", seed);
    History history(seed, disks);
    if (std::getenv("KVORUM_RAFT_PRINT") != nullptr) history.PrintText();
    history.RunWithFaults(20000);
    history.Heal(2000);
    coverage.Add(history.coverage());
    if (only_seed != 0 || testing::Test::HasFailure()) return std::nullopt;
  }
  std::printf(
      "%zu elections, %zu committed, %zu reads, %zu crashes, %zu torn writes, %zu partitions, "
      "%zu snapshots, %zu configuration changes applied, %zu joint, %zu refused, %zu transfers, "
      "%zu truncations, %zu lost quorums, %zu stalled disks, %zu of leaders, %zu replaced disks, "
      "%zu made good\n",
      coverage.elections, coverage.committed, coverage.reads, coverage.crashes,
      coverage.torn_writes, coverage.partitions, coverage.snapshots, coverage.conf_changes,
      coverage.joint_states, coverage.refused_conf_changes, coverage.transfers,
      coverage.truncations, coverage.lost_quorums, coverage.disk_stalls, coverage.stalled_leaders,
      coverage.replaced_disks, coverage.made_good);
  return coverage;
}

// Raft: paper figure 3
TEST(RaftClusterTest, KeepsItsPromisesAndRecovers) {
  const std::uint64_t seeds = NumberFromEnvironment("KVORUM_RAFT_SEEDS", 150);
  const std::optional<Coverage> ran = RunSeeds(seeds, Disks::kStay);
  if (!ran.has_value() || seeds < 100) return;
  const Coverage& coverage = *ran;
  EXPECT_GT(coverage.elections, 5 * seeds);
  EXPECT_GT(coverage.committed, 20 * seeds);
  EXPECT_GT(coverage.reads, 5 * seeds);
  EXPECT_GT(coverage.crashes, seeds);
  EXPECT_GT(coverage.torn_writes, seeds / 5);
  EXPECT_GT(coverage.partitions, seeds);
  EXPECT_GT(coverage.snapshots, seeds / 5);
  EXPECT_GT(coverage.conf_changes, seeds);
  EXPECT_GT(coverage.joint_states, seeds);
  EXPECT_GT(coverage.refused_conf_changes, seeds / 10);
  EXPECT_GT(coverage.transfers, seeds / 10);
  EXPECT_GT(coverage.truncations, seeds / 10);
  EXPECT_GT(coverage.lost_quorums, seeds / 5);
  EXPECT_GT(coverage.disk_stalls, seeds);
  EXPECT_GT(coverage.stalled_leaders, seeds / 5);
}

TEST(RaftClusterTest, KeepsThemWhereDisksAreReplacedByOlderOnes) {
  const std::uint64_t seeds = NumberFromEnvironment("KVORUM_RAFT_SEEDS", 40);
  const std::optional<Coverage> ran = RunSeeds(seeds, Disks::kAreReplaced);
  if (!ran.has_value() || seeds < 40) return;
  EXPECT_GT(ran->replaced_disks, seeds);
  EXPECT_GT(ran->made_good, seeds / 2);
  EXPECT_GT(ran->elections, 5 * seeds);
  EXPECT_GT(ran->committed, 20 * seeds);
  EXPECT_GT(ran->snapshots, seeds / 5);
}

TEST(RaftClusterTest, OneSeedIsOneHistory) {
  const auto run = [](std::uint64_t seed) {
    History history(seed);
    history.KeepText();
    history.RunWithFaults(2000);
    history.Heal(2000);
    return history.text();
  };
  for (std::uint64_t seed = 1; seed <= 5; ++seed) EXPECT_EQ(run(seed), run(seed));
  EXPECT_NE(run(1), run(2));
}

}  // namespace
}  // namespace kvorum::raft
