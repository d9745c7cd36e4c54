#include "raft/write_queue.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace kvorum::raft {

namespace {

bool IsAcknowledgement(const Message& message) {
  return message.type == MessageType::kAppResp && !message.reject;
}

// True if the later message says everything that the earlier one does.
bool Supersedes(const Message& later, const Message& earlier) {
  return IsAcknowledgement(later) && IsAcknowledgement(earlier) && later.to == earlier.to &&
         later.term == earlier.term && later.index >= earlier.index;
}

}  // namespace

bool WriteQueue::HasVote() const {
  return std::ranges::any_of(writes_, [](const Write& write) { return write.term != 0; });
}

void WriteQueue::Promise(Message message) {
  if (!promised_.empty() && Supersedes(message, promised_.back())) {
    promised_.back() = std::move(message);
    return;
  }
  if (waiting_messages_ + promised_.size() < kMaxMessages) promised_.push_back(std::move(message));
}

void WriteQueue::Add(Write write) { writes_.push_back(std::move(write)); }

void WriteQueue::Settle(std::vector<Message>& out) {
  if (writes_.empty()) {
    std::ranges::move(promised_, std::back_inserter(out));
    promised_.clear();
    return;
  }
  std::vector<Message>& waiting = writes_.back().messages;
  for (Message& message : promised_) {
    if (!waiting.empty() && Supersedes(message, waiting.back())) {
      waiting.back() = std::move(message);
    } else {
      waiting.push_back(std::move(message));
      ++waiting_messages_;
    }
  }
  promised_.clear();
}

void WriteQueue::TruncateFrom(Index index) {
  for (Write& write : writes_) write.last_index = std::min(write.last_index, index - 1);
}

std::vector<Write> WriteQueue::TakeUpTo(std::uint64_t ready_number) {
  std::vector<Write> done;
  while (!writes_.empty() && writes_.front().ready_number <= ready_number) {
    waiting_messages_ -= writes_.front().messages.size();
    done.push_back(std::move(writes_.front()));
    writes_.pop_front();
  }
  return done;
}

}  // namespace kvorum::raft
