// The output of a Node: collects a Ready.
#include "raft/ready.h"

#include <utility>

#include "raft/node.h"

namespace kvorum::raft {

bool Node::HasReady() const {
  return !messages_.empty() || !read_states_.empty() || !events_.empty() ||
         restored_.IsToBeWritten() || writes_.HasPromised() || log_.HasUnwritten() ||
         hard_state() != last_ready_.hard_state || soft_state() != last_ready_.soft_state ||
         (log_.HasNextToApply() && log_.applying_size_bytes() < config_.max_applying_size_bytes) ||
         (role_ == Role::kLeader && (reads_.NeedsRound() || HasFollowersToSendTo()));
}

Ready Node::TakeReady() {
  if (role_ == Role::kLeader) {
    SendWhatFollowersLack();
    if (reads_.NeedsRound()) SendHeartbeats(reads_.StartRound());
  }

  Ready ready;
  ready.number = ++last_ready_.number;
  Write write{.ready_number = ready.number, .given_at = timers_.now()};
  if (restored_.IsToBeWritten()) {
    ready.snapshot = restored_.GiveOut(ready.number);
    write.last_index = ready.snapshot->metadata.index;
    ready.must_sync = true;
  }
  if (log_.HasUnwritten()) {
    const std::span<const Entry> entries = log_.TakeUnwritten();
    ready.entries.assign(entries.begin(), entries.end());
    write.last_index = log_.last_index();
    ready.must_sync = true;
  }
  if (const HardState state = hard_state(); state != last_ready_.hard_state) {
    if (state.term != last_ready_.hard_state.term || state.vote != last_ready_.hard_state.vote) {
      write.term = state.term;
      write.vote = state.vote;
      ready.must_sync = true;
    }
    ready.hard_state = state;
    last_ready_.hard_state = state;
  }
  if (ready.must_sync) writes_.Add(std::move(write));
  writes_.Settle(messages_);
  ready.messages = std::exchange(messages_, {});

  if (const std::size_t applying = log_.applying_size_bytes();
      applying < config_.max_applying_size_bytes) {
    const std::span<const Entry> committed =
        log_.NextToApply(config_.max_applying_size_bytes - applying);
    ready.committed.assign(committed.begin(), committed.end());
    if (!committed.empty()) log_.SetApplying(committed.back().index);
  }
  ready.fetches = std::exchange(fetches_, {});
  ready.read_states = std::exchange(read_states_, {});
  if (soft_state() != last_ready_.soft_state) {
    last_ready_.soft_state = soft_state();
    ready.soft_state = last_ready_.soft_state;
  }
  ready.events = std::exchange(events_, {});
  return ready;
}

}  // namespace kvorum::raft
