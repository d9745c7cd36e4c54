#include "server/replica/taken_proposals.h"

#include <algorithm>
#include <utility>

#include "server/replica/request_id.h"

namespace kvorum::server {
namespace {

// Ids of one member differ mostly in their low bits, those of two members in their high ones.
constexpr std::uint64_t kMix = 0x9e3779b97f4a7c15;

}  // namespace

std::size_t TakenProposals::IdSet::SlotOf(std::uint64_t id) const {
  static_assert((kSlots & (kSlots - 1)) == 0);
  std::size_t slot = static_cast<std::size_t>((id * kMix) >> 32) % kSlots;
  while (slots_[slot] != 0 && slots_[slot] != id) slot = (slot + 1) % kSlots;
  return slot;
}

bool TakenProposals::IdSet::Contains(std::uint64_t id) const {
  return size_ != 0 && slots_[SlotOf(id)] == id;
}

void TakenProposals::IdSet::Add(std::uint64_t id) {
  if (slots_.empty()) slots_.resize(kSlots);
  std::uint64_t& slot = slots_[SlotOf(id)];
  if (std::exchange(slot, id) != id) ++size_;
}

void TakenProposals::IdSet::Clear() {
  std::ranges::fill(slots_, 0);
  size_ = 0;
}

std::vector<std::uint64_t> TakenProposals::DropKnown(std::vector<raft::Entry>& entries) const {
  std::vector<std::uint64_t> ids;
  ids.reserve(entries.size());
  std::erase_if(entries, [&](const raft::Entry& entry) {
    const std::uint64_t id = RequestIdOf(entry).value_or(0);
    if (id != 0 && IsKnown(id)) return true;
    ids.push_back(id);
    return false;
  });
  return ids;
}

void TakenProposals::Add(std::span<const std::uint64_t> ids) {
  for (const std::uint64_t id : ids) {
    if (id == 0) continue;
    if (newer_.size() == kGeneration) {
      std::swap(newer_, older_);
      newer_.Clear();
    }
    newer_.Add(id);
  }
}

}  // namespace kvorum::server
