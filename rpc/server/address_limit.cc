#include "rpc/server/address_limit.h"

namespace kvorum::rpc {

AddressLimit::Place AddressLimit::Take(std::string_view peer) {
  Place place;
  const std::size_t colon = peer.rfind(':');
  if (most_ == 0 || colon == std::string_view::npos) return place;
  const std::string_view address = peer.substr(0, colon);
  const std::lock_guard lock(mutex_);
  auto entry = entries_.find(address);
  if (entry == entries_.end()) entry = entries_.emplace(address, Counts{}).first;
  Counts& counts = entry->second;
  if (counts.served < most_) {
    ++counts.served;
  } else if (counts.refused < kMostRefused) {
    ++counts.refused;
    place.verdict_ = Verdict::kRefuse;
  } else {
    place.verdict_ = Verdict::kDrop;
    return place;
  }
  place.limit_ = this;
  place.entry_ = &*entry;
  return place;
}

void AddressLimit::Place::GiveBack() {
  AddressLimit* const limit = std::exchange(limit_, nullptr);
  if (limit == nullptr) return;
  auto& [address, counts] = *entry_;
  const std::lock_guard lock(limit->mutex_);
  --(verdict_ == Verdict::kServe ? counts.served : counts.refused);
  if (counts.served == 0 && counts.refused == 0)
    limit->entries_.erase(limit->entries_.find(address));
}

std::size_t AddressLimit::addresses() const {
  const std::lock_guard lock(mutex_);
  return entries_.size();
}

}  // namespace kvorum::rpc
