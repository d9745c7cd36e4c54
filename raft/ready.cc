// What comes out of a Node: the collection of a Ready.
#include "raft/ready.h"

#include <utility>

#include "raft/node.h"

namespace kvorum::raft {

bool Node::HasReady() const {
  return !messages_.empty() || !read_states_.empty() || !events_.empty() || snapshot_ != nullptr ||
         writes_.HasPromised() || log_.HasUnwritten() || hard_state() != given_hard_state_ ||
         soft_state() != given_soft_state_ ||
         (log_.HasNextToApply() && applying_size_bytes_ < config_.max_applying_size_bytes) ||
         (role_ == Role::kLeader && (reads_.NeedsRound() || HasFollowersToSendTo()));
}

Ready Node::TakeReady() {
  if (role_ == Role::kLeader) {
    SendWhatFollowersLack();
    if (reads_.NeedsRound()) SendHeartbeats(reads_.StartRound());
  }

  Ready ready;
  ready.number = ++ready_number_;
  Write write{.ready_number = ready.number, .given_at = ticks_};
  if (snapshot_ != nullptr) {
    write.last_index = snapshot_->metadata.index;
    snapshot_ready_number_ = ready.number;
    ready.snapshot = std::exchange(snapshot_, nullptr);
    ready.must_sync = true;
  }
  if (log_.HasUnwritten()) {
    const std::span<const Entry> entries = log_.TakeUnwritten();
    ready.entries.assign(entries.begin(), entries.end());
    write.last_index = log_.last_index();
    ready.must_sync = true;
  }
  if (const HardState state = hard_state(); state != given_hard_state_) {
    if (state.term != given_hard_state_.term || state.vote != given_hard_state_.vote) {
      write.term = state.term;
      write.vote = state.vote;
      ready.must_sync = true;
    }
    ready.hard_state = state;
    given_hard_state_ = state;
  }
  if (ready.must_sync) writes_.Add(std::move(write));
  writes_.Settle(messages_);
  ready.messages = std::exchange(messages_, {});

  if (applying_size_bytes_ < config_.max_applying_size_bytes) {
    const std::span<const Entry> committed =
        log_.NextToApply(config_.max_applying_size_bytes - applying_size_bytes_);
    for (const Entry& entry : committed) applying_size_bytes_ += SizeBytes(entry);
    ready.committed.assign(committed.begin(), committed.end());
    if (!committed.empty()) log_.SetApplying(committed.back().index);
  }
  ready.read_states = std::exchange(read_states_, {});
  if (soft_state() != given_soft_state_) {
    given_soft_state_ = soft_state();
    ready.soft_state = given_soft_state_;
  }
  ready.events = std::exchange(events_, {});
  return ready;
}

}  // namespace kvorum::raft
