#include "server/replica/drive/taken_proposals.h"

#include <algorithm>
#include <utility>

#include "base/mix64.h"
#include "server/replica/drive/request_id.h"

namespace kvorum::server {
namespace {

TakenProposals::Mark MarkOf(raft::MemberId from, std::uint64_t id) {
  const TakenProposals::Mark mark = Mix64(id) + from.value();
  return mark == 0 ? 1 : mark;
}

}  // namespace

// Marks are as good as random.
std::size_t TakenProposals::MarkSet::SlotOf(Mark mark) const {
  static_assert((kSlots & (kSlots - 1)) == 0);
  std::size_t slot = static_cast<std::size_t>(mark) % kSlots;
  while (slots_[slot] != 0 && slots_[slot] != mark) slot = (slot + 1) % kSlots;
  return slot;
}

bool TakenProposals::MarkSet::Contains(Mark mark) const {
  return size_ != 0 && slots_[SlotOf(mark)] == mark;
}

void TakenProposals::MarkSet::Add(Mark mark) {
  if (slots_.empty()) slots_.resize(kSlots);
  Mark& slot = slots_[SlotOf(mark)];
  if (std::exchange(slot, mark) != mark) ++size_;
}

void TakenProposals::MarkSet::Clear() {
  std::ranges::fill(slots_, 0);
  size_ = 0;
}

std::vector<TakenProposals::Mark> TakenProposals::DropKnown(
    raft::MemberId from, std::vector<raft::Entry>& entries) const {
  std::vector<Mark> marks;
  marks.reserve(entries.size());
  std::erase_if(entries, [&](const raft::Entry& entry) {
    const std::uint64_t id = RequestIdOf(entry).value_or(0);
    const Mark mark = id == 0 ? 0 : MarkOf(from, id);
    if (mark != 0 && IsKnown(mark)) return true;
    marks.push_back(mark);
    return false;
  });
  return marks;
}

void TakenProposals::Add(std::span<const Mark> marks) {
  for (const Mark mark : marks) {
    if (mark == 0) continue;
    if (newer_.size() == kGeneration) {
      std::swap(newer_, older_);
      newer_.Clear();
    }
    newer_.Add(mark);
  }
}

}  // namespace kvorum::server
