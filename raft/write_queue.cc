#include "raft/write_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kvorum::raft {

void WriteQueue::Add(Write write) { writes_.push_back(std::move(write)); }

void WriteQueue::Settle(std::vector<Message>& out) {
  std::vector<Message>& target = writes_.empty() ? out : writes_.back().messages;
  std::ranges::move(promised_, std::back_inserter(target));
  promised_.clear();
}

void WriteQueue::TruncateFrom(Index index) {
  for (Write& write : writes_) write.last_index = std::min(write.last_index, index - 1);
}

std::vector<Write> WriteQueue::TakeUpTo(std::uint64_t ready_number) {
  std::vector<Write> done;
  while (!writes_.empty() && writes_.front().ready_number <= ready_number) {
    done.push_back(std::move(writes_.front()));
    writes_.pop_front();
  }
  return done;
}

}  // namespace kvorum::raft
