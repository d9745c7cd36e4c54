#include "server/apply/wait_table.h"

namespace kvorum::server {

void WaitTable::Register(std::vector<PendingProposal> proposals) {
  std::lock_guard lock(mutex_);
  for (PendingProposal& proposal : proposals) {
    const bool is_key_write = proposal.is_key_write;
    const bool is_new = waiting_
                            .emplace(proposal.id, Waiting{proposal.deadline,
                                                          std::move(proposal.waiter), is_key_write})
                            .second;
    if (is_new && is_key_write) ++key_writes_;
  }
}

std::unique_ptr<Waiter> WaitTable::TakeOut(Map::iterator& it) {
  if (it->second.is_key_write) --key_writes_;
  std::unique_ptr<Waiter> waiter = std::move(it->second.waiter);
  it = waiting_.erase(it);
  return waiter;
}

std::vector<std::unique_ptr<Waiter>> WaitTable::Take(const std::vector<std::uint64_t>& ids) {
  std::vector<std::unique_ptr<Waiter>> taken(ids.size());
  std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < ids.size(); ++i) {
    auto it = waiting_.find(ids[i]);
    if (it != waiting_.end()) taken[i] = TakeOut(it);
  }
  return taken;
}

bool WaitTable::Waits(std::uint64_t id) const {
  std::lock_guard lock(mutex_);
  return waiting_.contains(id);
}

std::vector<std::unique_ptr<Waiter>> WaitTable::TakeExpired(TimePoint now) {
  std::vector<std::unique_ptr<Waiter>> taken;
  std::lock_guard lock(mutex_);
  for (auto it = waiting_.begin(); it != waiting_.end();) {
    if (it->second.deadline > now) {
      ++it;
      continue;
    }
    taken.push_back(TakeOut(it));
  }
  return taken;
}

std::vector<std::unique_ptr<Waiter>> WaitTable::TakeAll() {
  std::vector<std::unique_ptr<Waiter>> taken;
  std::lock_guard lock(mutex_);
  for (auto& [id, waiting] : waiting_) taken.push_back(std::move(waiting.waiter));
  waiting_.clear();
  key_writes_ = 0;
  return taken;
}

std::size_t WaitTable::size() const {
  std::lock_guard lock(mutex_);
  return waiting_.size();
}

std::size_t WaitTable::key_writes() const {
  std::lock_guard lock(mutex_);
  return key_writes_;
}

}  // namespace kvorum::server
