// The writes that are under way: what becomes true, and which messages may leave, when each of them
// is durable.
//
// Threading: used by the raft executor only. Writes reach the disk in order, so a write that is
// durable makes all before it durable.
#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "proto/raft_types.h"

namespace kvorum::raft {

// What one Ready gave to the disk.
struct Write {
  std::uint64_t ready_number = 0;
  Index last_index = 0;  // of its entries or its snapshot; 0 if it has none that still count
  Term term = 0;         // of its hard state; 0 if it has none
  MemberId vote = kNone;
  std::vector<Message> messages{};  // that promise what this write holds
};

class WriteQueue {
 public:
  bool empty() const { return writes_.empty(); }
  // A message that promises the current state. It leaves with the write that is added next, or with
  // the last one under way, or at once if there is none.
  void Promise(Message message) { promised_.push_back(std::move(message)); }
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
};

}  // namespace kvorum::raft
