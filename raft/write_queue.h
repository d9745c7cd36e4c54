// The writes that are under way: what becomes true, and which messages may leave, when each of them
// is durable.
//
// Threading: used by the raft executor only. Writes reach the disk in order, so a write that is
// durable makes all before it durable.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>
#include <vector>

#include "proto/raft_types.h"

namespace kvorum::raft {

// What one Ready gave to the disk.
struct Write {
  std::uint64_t ready_number = 0;
  std::uint64_t given_at = 0;  // in the node's ticks
  Index last_index = 0;        // of its entries or its snapshot; 0 if it has none that still count
  Term term = 0;               // of its hard state; 0 if it has none
  MemberId vote = kNone;
  std::vector<Message> messages{};  // that promise what this write holds
};

class WriteQueue {
 public:
  // What may wait for a disk that is stuck; further messages are lost, as a network may lose them.
  static constexpr std::size_t kMaxMessages = 16'384;

  bool empty() const { return writes_.empty(); }
  // The one that the disk has had for longest; there is one.
  const Write& oldest() const { return writes_.front(); }
  // The oldest write takes an election time-out, as its owner says.
  bool is_stalled() const { return is_stalled_; }
  // True if that is news.
  bool SetStalled(bool is_stalled) { return std::exchange(is_stalled_, is_stalled) != is_stalled; }
  // A message that promises the current state. It leaves with the write that is added next, or with
  // the last one under way, or at once if there is none. An acknowledgement takes the place of the
  // one before it, which promised less.
  void Promise(Message message);
  bool HasPromised() const { return !promised_.empty(); }
  void Add(Write write);
  // Attaches the promised messages to the last write; those that need to wait for none go to `out`.
  void Settle(std::vector<Message>& out);
  // Entries from this index on were replaced in the log: earlier writes do not vouch for them.
  void TruncateFrom(Index index);
  // Takes the writes up to this number out.
  std::vector<Write> TakeUpTo(std::uint64_t ready_number);

 private:
  std::deque<Write> writes_;
  std::vector<Message> promised_;
  std::size_t waiting_messages_ = 0;  // of writes_
  bool is_stalled_ = false;
};

}  // namespace kvorum::raft
