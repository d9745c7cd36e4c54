#include "tests/raft/victim.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "raft/conf_change.h"

namespace kvorum::raft {

Victim::Victim(std::uint64_t seed)
    : config_{.id = kId,
              .seed = seed,
              .pre_vote = seed % 4 != 0,
              .check_quorum = seed % 3 != 0,
              .takes_conf_change_v2 = seed % 2 == 0,
              .max_append_size_bytes = 200,
              .max_inflight_messages = 3,
              .max_uncommitted_size_bytes = 2000,
              .max_unapplied_size_bytes = 2500,
              .max_applying_size_bytes = 300,
              .max_pending_reads = 10,
              .catch_up_entries = 4} {
  disk_.hard_state = {.term = 3, .vote = kNone, .commit = 2};
  for (Index index = 1; index <= 5; ++index) {
    disk_.entries.push_back({.term = Term{1 + index.value() / 2},
                             .index = index,
                             .data = SharedBytes::Own("entry " + std::to_string(index.value()))});
  }
  disk_.conf_state = {.voters = {1, 2, 3}, .learners = {4}};
  Restart();
}

void Victim::Restart() {
  writes_.clear();
  to_apply_.clear();
  persisted_ = 0;
  last_number_ = 0;
  node_.reset();
  auto node = Node::Create(config_, disk_);
  KV_CHECK(node.has_value(), node.error().message);
  node_ = std::move(*node);
  last_given_to_apply_ = disk_.applied;
  Check();
}

void Victim::Check() {
  node_->CheckInvariants();
  KV_CHECK(node_->term() >= last_term_ || node_->term() >= disk_.hard_state.term,
           "the term went back");
  last_term_ = node_->term();
}

bool Victim::Receive(Message message) {
  const HardState before = node_->hard_state();
  const Index last = node_->log().last_index();
  const bool is_taken = node_->Step(std::move(message)).has_value();
  if (!is_taken) {
    ++refused_;
    KV_CHECK(node_->log().last_index() == last, "a refused message changed the log");
    KV_CHECK(node_->hard_state().commit == before.commit, "a refused message committed something");
  }
  Check();
  return is_taken;
}

void Victim::Tick() {
  node_->Tick();
  Check();
}

void Victim::Keep(const Ready& ready) {
  if (!keeps_output_) return;
  output_ += "ready " + std::to_string(ready.number) + (ready.must_sync ? " sync\n" : "\n");
  if (ready.snapshot != nullptr) output_ += Encode(*ready.snapshot);
  for (const Entry& entry : ready.entries) output_ += Encode(entry);
  if (ready.hard_state.has_value()) output_ += Encode(*ready.hard_state);
  for (const Message& message : ready.messages) output_ += Encode(message);
  for (const Entry& entry : ready.committed) output_ += Encode(entry);
  for (const ReadState& state : ready.read_states)
    output_ += std::to_string(state.context) + "=" + std::to_string(state.index.value()) + "\n";
  for (const Event& event : ready.events) {
    output_ += std::string(Name(event.type)) + " " + std::to_string(event.term.value()) + " " +
               std::to_string(event.peer.value()) + " " + std::to_string(event.index.value()) +
               "\n";
  }
}

void Victim::TakeReady() {
  if (!node_->HasReady()) return;
  Ready ready = node_->TakeReady();
  Keep(ready);
  KV_CHECK(ready.number == last_number_ + 1, "a Ready is missing");
  last_number_ = ready.number;
  sent_ += ready.messages.size();
  for (const Message& message : ready.messages)
    KV_CHECK(message.to != kId && message.to != kNone, "a message to nobody");
  if (ready.snapshot != nullptr) {
    to_apply_.clear();  // it has replaced the entries still to be applied
    to_apply_.push_back({.snapshot = ready.snapshot, .ready_number = ready.number});
    last_given_to_apply_ = ready.snapshot->metadata.index;
  }
  for (const Entry& entry : ready.committed) {
    KV_CHECK(entry.index == last_given_to_apply_ + 1, "entries to apply are not consecutive");
    KV_CHECK(entry.index <= node_->log().persisted(), "an entry to apply is not durable");
    KV_CHECK(entry.type != EntryType::kConfChangeV2 || config_.takes_conf_change_v2,
             "an entry to apply is of a kind that is not taken");
    last_given_to_apply_ = entry.index;
    to_apply_.push_back({.entry = entry});
  }
  if (ready.snapshot == nullptr && ready.entries.empty() && !ready.hard_state.has_value()) return;
  ready.messages.clear();
  ready.committed.clear();
  writes_.push_back(std::move(ready));
}

void Victim::WriteDown(const Ready& ready) {
  if (ready.snapshot != nullptr) {
    const SnapshotMetadata& metadata = ready.snapshot->metadata;
    disk_.snapshot_index = metadata.index;
    disk_.snapshot_term = metadata.term;
    disk_.entries.clear();
    disk_.applied = metadata.index;
    disk_.conf_state = metadata.conf_state;
  }
  for (const Entry& entry : ready.entries) {
    KV_CHECK(entry.index > disk_.snapshot_index &&
                 entry.index <= disk_.snapshot_index + disk_.entries.size() + 1,
             "an entry is written behind a gap");
    disk_.entries.resize(entry.index - disk_.snapshot_index - 1);
    disk_.entries.push_back(entry);
  }
  if (ready.hard_state.has_value()) disk_.hard_state = *ready.hard_state;
}

void Victim::PersistOne() {
  if (writes_.empty()) return;
  const Ready ready = std::move(writes_.front());
  writes_.pop_front();
  WriteDown(ready);
  if (!ready.must_sync) return;
  persisted_ = ready.number;
  node_->Persisted(ready.number);
  Check();
}

void Victim::ApplyOne() {
  if (to_apply_.empty() || to_apply_.front().ready_number > persisted_) return;
  const ToApply next = std::move(to_apply_.front());
  to_apply_.pop_front();
  if (next.snapshot != nullptr) {
    node_->Applied(next.snapshot->metadata.index);
  } else {
    if (next.entry.type != EntryType::kNormal) {
      const auto change = DecodeConfChangeEntry(next.entry.type, next.entry.data);
      if (change.has_value()) (void)node_->ApplyConfChange(*change);
    }
    node_->Applied(next.entry.index);
  }
  Check();
}

void Victim::Compact() {
  node_->Compact(node_->log().applied());
  Check();
}

void Victim::Work() {
  while (node_->HasReady() || !writes_.empty() || !to_apply_.empty()) {
    TakeReady();
    PersistOne();
    ApplyOne();
  }
}

}  // namespace kvorum::raft
