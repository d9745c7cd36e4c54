#include "raft/read_queue.h"

#include <algorithm>
#include <utility>

namespace kvorum::raft {

void ReadQueue::Postpone(MemberId requester, SharedBytes context) {
  postponed_.push_back({.requester = requester, .context = std::move(context)});
}

std::vector<PendingRead> ReadQueue::TakePostponed() { return std::exchange(postponed_, {}); }

void ReadQueue::Add(MemberId requester, SharedBytes context, Index committed) {
  waiting_.push_back({.requester = requester,
                      .context = std::move(context),
                      .index = committed,
                      .round = last_round_ + 1});
}

void ReadQueue::Acknowledge(MemberId member, std::uint64_t round) {
  if (round > last_round_) return;  // not a round of ours
  std::uint64_t& acknowledged = acknowledged_[member];
  acknowledged = std::max(acknowledged, round);
}

std::uint64_t ReadQueue::AcknowledgedBy(MemberId member) const {
  const auto found = acknowledged_.find(member);
  return found == acknowledged_.end() ? 0 : found->second;
}

std::vector<PendingRead> ReadQueue::TakeConfirmed(std::uint64_t round) {
  std::vector<PendingRead> confirmed;
  while (!waiting_.empty() && waiting_.front().round <= round) {
    confirmed.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  }
  return confirmed;
}

void ReadQueue::Clear() {
  postponed_.clear();
  waiting_.clear();
  acknowledged_.clear();
}

SharedBytes EncodeContext(std::uint64_t number) {
  char* data = nullptr;
  SharedBytes context = SharedBytes::Allocate(sizeof(number), &data);
  for (std::size_t i = sizeof(number); i-- > 0; number >>= 8) data[i] = static_cast<char>(number);
  return context;
}

std::uint64_t DecodeContext(const SharedBytes& context) {
  if (context.size() != sizeof(std::uint64_t)) return 0;
  std::uint64_t number = 0;
  for (const char byte : context.view()) number = (number << 8) | static_cast<std::uint8_t>(byte);
  return number;
}

}  // namespace kvorum::raft
