#include "tests/raft/cluster.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "base/check.h"
#include "raft/conf_change.h"

namespace kvorum::raft {

// --- Member ------------------------------------------------------------------------------------

Member::Member(Cluster& cluster, Config config, Disk disk)
    : cluster_(cluster), config_(config), disk_(std::move(disk)) {
  Start();
}

void Member::Start() {
  Result<std::unique_ptr<Node>> node =
      Node::Create(config_, {.hard_state = disk_.hard_state,
                             .snapshot_index = disk_.snapshot_index,
                             .snapshot_term = disk_.snapshot_term,
                             .entries = disk_.entries,
                             .applied = disk_.applied,
                             .conf_state = disk_.conf_state,
                             .lost_data = disk_.lost_data});
  KV_CHECK(node.has_value(), node.error().message);
  node_ = std::move(*node);
  persisted_ = 0;
  node_->CheckInvariants();
}

Ready Member::TakeReady() {
  Ready ready = node_->TakeReady();
  node_->CheckInvariants();
  cluster_.OnReady(*this, ready);
  disk_.lost_data = node_->lost_data().index();
  for (const Message& message : ready.messages) {
    Message sent = message;
    // The snapshot that is really sent is the state machine's, here and now, as with the driver.
    if (sent.type == MessageType::kSnap) {
      const Index index = node_->log().applied();
      KV_CHECK(index >= sent.snapshot->metadata.index, "the state machine is behind its node");
      sent.snapshot = std::make_shared<Snapshot>(
          Snapshot{.metadata = {.conf_state = cluster_.ConfAt(index),
                                .index = index,
                                .term = cluster_.history()[index.value() - 1].term}});
    }
    cluster_.network().push_back(std::move(sent));
  }
  if (ready.snapshot != nullptr) {
    // After the queued entries, which are applied first, as in the driver's apply loop.
    to_apply_.push_back({.snapshot = ready.snapshot, .ready_number = ready.number});
  }
  for (const Entry& entry : ready.committed) to_apply_.push_back({.entry = entry});
  if (ready.must_sync || ready.hard_state.has_value()) {
    writes_.push_back({.number = ready.number,
                       .snapshot = ready.snapshot,
                       .entries = ready.entries,
                       .hard_state = ready.hard_state,
                       .must_sync = ready.must_sync});
  }
  return ready;
}

// Steps of a Ready's write: 0 the snapshot, then the entries, last the hard state.
void Member::WriteStep(std::size_t step, const Ready& ready) {
  if (step == 0) {
    if (ready.snapshot == nullptr) return;
    const SnapshotMetadata& metadata = ready.snapshot->metadata;
    disk_.snapshot_index = metadata.index;
    disk_.snapshot_term = metadata.term;
    disk_.entries.clear();
    disk_.applied = metadata.index;  // its state was durable before it was stepped into raft
    disk_.conf_state = metadata.conf_state;
  } else if (step <= ready.entries.size()) {
    const Entry& entry = ready.entries[step - 1];
    KV_CHECK(entry.index > disk_.snapshot_index &&
                 entry.index <= disk_.snapshot_index + disk_.entries.size() + 1,
             "an entry is written behind a gap");
    disk_.entries.resize(entry.index - disk_.snapshot_index - 1);
    disk_.entries.push_back(entry);
  } else if (ready.hard_state.has_value()) {
    disk_.hard_state = *ready.hard_state;
  }
}

std::size_t Member::UnsyncedSteps() const {
  std::size_t steps = 0;
  for (const Ready& ready : writes_) steps += ready.entries.size() + 2;
  return steps;
}

void Member::Persist(std::uint64_t ready_number) {
  std::uint64_t synced = 0;
  while (!writes_.empty() && (ready_number == 0 || writes_.front().number <= ready_number)) {
    const Ready ready = std::move(writes_.front());
    writes_.pop_front();
    for (std::size_t step = 0; step < ready.entries.size() + 2; ++step) WriteStep(step, ready);
    if (ready.must_sync) synced = ready.number;
  }
  if (synced == 0) return;
  persisted_ = synced;
  node_->Persisted(synced);
  node_->CheckInvariants();
}

bool Member::HasToApply() const {
  return !to_apply_.empty() && to_apply_.front().ready_number <= persisted_;
}

void Member::ApplyOne() {
  const PendingApply next = std::move(to_apply_.front());
  to_apply_.pop_front();
  if (next.snapshot != nullptr) {
    node_->Applied(next.snapshot->metadata.index);
  } else {
    cluster_.OnApplied(*this, next.entry);
    if (next.entry.type != EntryType::kNormal) {
      const auto change = DecodeConfChangeEntry(next.entry.type, next.entry.data);
      (void)node_->ApplyConfChange(change.value());
      KV_CHECK(node_->conf_state() == cluster_.ConfAt(next.entry.index),
               "members differ in their configuration");
    }
    node_->Applied(next.entry.index);
  }
  node_->CheckInvariants();
}

void Member::ApplyAll() {
  while (HasToApply()) ApplyOne();
}

void Member::Checkpoint() {
  const Index applied = node_->log().applied();
  if (applied < node_->log().snapshot_index()) return;  // a snapshot is being installed
  disk_.applied = std::max(disk_.applied, applied);
  disk_.conf_state = cluster_.ConfAt(disk_.applied);
  node_->Compact(disk_.applied);
  node_->CheckInvariants();
}

void Member::Crash(std::size_t surviving_steps) {
  for (const Ready& ready : writes_) {
    for (std::size_t step = 0; step < ready.entries.size() + 2; ++step) {
      if (surviving_steps == 0) break;
      --surviving_steps;
      WriteStep(step, ready);
    }
  }
  writes_.clear();
  to_apply_.clear();
  node_.reset();
}

void Member::ReplaceDisk(Disk disk) {
  if (is_up()) Crash();
  disk_ = std::move(disk);
  had_disk_replaced_ = true;
  // A member's connections end with it.
  std::erase_if(cluster_.network(),
                [&](const Message& message) { return message.from == id() || message.to == id(); });
  Start();
}

void Member::LoseData() {
  node_->LoseData();
  disk_.lost_data = node_->lost_data().index();
}

void Member::CheckHolds(const std::vector<Entry>& history) const {
  const Log& log = node_->log();
  KV_CHECK(log.last_index().value() >= history.size(), "what was committed is lost");
  for (Index index = log.first_index(); index.value() <= history.size(); ++index)
    KV_CHECK(log.Range(index, index).front() == history[index.value() - 1],
             "what was committed changed");
}

// --- Cluster -----------------------------------------------------------------------------------

Member& Cluster::Add(const Config& config, Disk disk) {
  return members_
      .emplace(std::piecewise_construct, std::forward_as_tuple(config.id),
               std::forward_as_tuple(*this, config, std::move(disk)))
      .first->second;
}

Result<void> Cluster::Deliver(const Message& message) {
  const auto receiver = members_.find(message.to);
  if (receiver == members_.end() || !receiver->second.is_up()) return {};
  Result<Message> decoded = DecodeMessage(SharedBytes::Own(Encode(message)));
  KV_CHECK(decoded.has_value(), "a message cannot be read");
  Result<void> result = receiver->second.node().Step(std::move(*decoded));
  KV_CHECK(result.has_value() || !receiver->second.config().takes_conf_change_v2,
           result.error().message);
  receiver->second.node().CheckInvariants();
  return result;
}

Dropped Cluster::Read(MemberId id) {
  const std::uint64_t context = ++last_read_;
  reads_[context] = Index{history_.size()};
  return members_.at(id).node().ReadIndex(context);
}

void Cluster::OnReady(Member& member, const Ready& ready) {
  for (const Event& event : ready.events) {
    KV_CHECK(
        event.type != EventType::kDataLost || event.peer == kNone || member.had_disk_replaced(),
        "a member believes that it lost data");
    if (event.type != EventType::kBecameLeader) continue;
    const auto [known, is_new] = leaders_.emplace(event.term, member.id());
    KV_CHECK(is_new, "election safety: two leaders in one term");
    member.CheckHolds(history_);  // leader completeness
  }
  for (const ReadState& state : ready.read_states) {
    const auto read = reads_.find(state.context);
    if (read == reads_.end()) continue;  // answered twice: the network repeats
    KV_CHECK(state.index >= read->second, "a read misses what was applied before it was asked");
    reads_.erase(read);
    ++answered_reads_;
  }
}

void Cluster::OnApplied(Member& member, const Entry& entry) {
  KV_CHECK(entry.index == member.node().log().applied() + 1, "entries are applied out of order");
  if (entry.index.value() == history_.size() + 1) {
    ConfState conf = ConfAt(Index{history_.size()});
    if (entry.type != EntryType::kNormal) {
      // An impossible change is refused alike by every member.
      const auto change = DecodeConfChangeEntry(entry.type, entry.data);
      conf = ApplyChange(conf, change.value()).value_or(conf);
    }
    history_.push_back(entry);
    confs_.push_back(std::move(conf));
    return;
  }
  KV_CHECK(entry.index.value() <= history_.size(), "an entry is applied behind a gap");
  KV_CHECK(entry == history_[entry.index.value() - 1],
           "state machine safety: members apply different entries");
}

ConfState Cluster::ConfAt(Index index) const {
  return index == 0 ? ConfState{} : confs_[index.value() - 1];
}

void Cluster::CheckInvariants() {
  for (auto& [id, member] : members_) {
    if (!member.is_up()) continue;
    const Log& a = member.node().log();
    for (auto& [other_id, other] : members_) {
      if (other_id <= id || !other.is_up()) continue;
      const Log& b = other.node().log();
      // Log matching: from the last index with an equal term downwards, all entries are equal.
      bool is_equal = false;
      for (Index index = std::min(a.last_index(), b.last_index());
           index >= std::max(a.first_index(), b.first_index()); --index) {
        const Entry& left = a.Range(index, index).front();
        const Entry& right = b.Range(index, index).front();
        is_equal |= left.term == right.term;
        KV_CHECK(!is_equal || left == right, "log matching: logs differ below an equal entry");
      }
    }
  }
}

}  // namespace kvorum::raft
