// The writes in progress, with the facts that hold and the messages that may leave when each of
// them is durable.
//
// Threading: used by the raft executor only. Writes reach the disk in order, so a durable write
// makes all before it durable.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "proto/raft_types.h"

namespace kvorum::raft {

// The part of one Ready that went to the disk.
struct Write {
  std::uint64_t ready_number = 0;
  std::uint64_t given_at = 0;  // in the node's ticks
  Index last_index = 0;        // of its entries or its snapshot; 0 if it has none that are still
                               // valid
  Term term = 0;               // of its hard state; 0 if it has none
  MemberId vote = kNone;
  std::vector<Message> messages{};  // that promise the content of this write
};

class WriteQueue {
 public:
  // The bound of messages waiting for a stuck disk; further messages are lost, as a network may
  // lose them.
  static constexpr std::size_t kMaxMessages = 16'384;

  bool empty() const { return writes_.empty(); }
  // True if a write in progress holds a term and vote.
  bool HasVote() const;
  // The write that the disk has had for longest. There must be one.
  const Write& oldest() const { return writes_.front(); }
  // True if the owner found that the oldest write takes longer than an election time-out.
  bool is_stalled() const { return is_stalled_; }
  // Returns true if that is news.
  bool SetStalled(bool is_stalled) { return std::exchange(is_stalled_, is_stalled) != is_stalled; }
  // Adds a message that promises the current state. It leaves with the next write, or with the last
  // one in progress, or at once if there is none. An acknowledgement replaces the one before it,
  // which promised less.
  void Promise(Message message);
  bool HasPromised() const { return !promised_.empty(); }
  void Add(Write write);
  // Attaches the promised messages to the last write; messages that need not wait go to `out`.
  void Settle(std::vector<Message>& out);
  // Entries from this index on were replaced in the log: earlier writes do not vouch for them.
  void TruncateFrom(Index index);
  // The messages that wait for the disk.
  std::size_t waiting_messages() const { return waiting_messages_ + promised_.size(); }
  // Removes and returns the writes up to this number.
  std::vector<Write> TakeUpTo(std::uint64_t ready_number);

 private:
  std::deque<Write> writes_;
  std::vector<Message> promised_;
  std::size_t waiting_messages_ = 0;  // of writes_
  bool is_stalled_ = false;
};

}  // namespace kvorum::raft
