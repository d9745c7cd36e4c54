#include "mvcc/index/index_versions.h"

#include "base/check.h"

namespace kvorum::mvcc::index {

bool Retired::BornAfter(std::uint64_t version_number, std::int64_t version_newest) const {
  switch (static_cast<Kind>(word_ & kKindMask)) {
    case kEntry:
      return As<Entry>()->main() > version_newest;
    case kHistory:
      return As<History>()->birth > version_number;
    case kLeaf:
    case kInner:
      return As<Node>()->birth > version_number;
  }
  KV_CHECK(false, "a retired object of unknown kind");
}

void Retired::Free(Arena& arena) const {
  switch (static_cast<Kind>(word_ & kKindMask)) {
    case kEntry:
      FreeEntry(arena, As<Entry>());
      return;
    case kHistory:
      FreeHistory(arena, As<History>());
      return;
    case kLeaf:
      arena.Free(As<Leaf>(), sizeof(Leaf));
      return;
    case kInner:
      arena.Free(As<Inner>(), sizeof(Inner));
      return;
  }
}

VersionList::VersionList(Arena& arena) : arena_(arena) {
  current_ = NewVersion();
  oldest_ = current_;
  published_.store(Word(*current_), std::memory_order_release);
}

VersionList::~VersionList() {
  CountPins(*current_, published_.exchange(Word(*current_), std::memory_order_acq_rel));
  for (const Version* version = oldest_; version != nullptr; version = version->newer) {
    KV_CHECK(version->readers.load(std::memory_order_acquire) == 0,
             "the key index is destroyed while a snapshot is held");
  }
}

Version* VersionList::Pin() const {
  const std::uint64_t word = published_.fetch_add(1, std::memory_order_acquire);
  const std::size_t place = word >> kCountBits;
  return &(*blocks_[place / kBlockSize])[place % kBlockSize];
}

void VersionList::Publish(const State& state, std::vector<Retired>& retired) {
  Version* next = NewVersion();
  next->root = state.root;
  next->height = state.height;
  next->mark = state.mark;
  next->newest = state.newest;
  next->number = current_->number + 1;
  next->older = current_;
  current_->newer = next;
  current_->retired.swap(retired);
  CountPins(*current_, published_.exchange(Word(*next), std::memory_order_acq_rel));
  current_ = next;
}

bool VersionList::Collect(std::size_t max_objects, std::size_t max_looks) {
  // Keeps the published version's count of pins far below its limit when nothing is published.
  CountPins(*current_, published_.exchange(Word(*current_), std::memory_order_acq_rel));
  std::size_t budget = max_objects;
  for (std::size_t i = 0; i < max_looks && oldest_ != current_; ++i) {
    Version* version = next_to_check_;
    if (version == nullptr || version == current_) version = oldest_;
    next_to_check_ = version->newer;
    if (version->readers.load(std::memory_order_acquire) != 0) continue;
    if (!Dissolve(*version, budget)) {
      next_to_check_ = version;
      return true;
    }
    Drop(version);
  }
  return false;
}

bool VersionList::Dissolve(Version& version, std::size_t& budget) {
  Version* older = version.older;
  while (!version.retired.empty()) {
    if (budget == 0) return false;
    --budget;
    const Retired object = version.retired.back();
    version.retired.pop_back();
    if (older == nullptr || object.BornAfter(older->number, older->newest)) {
      object.Free(arena_);
    } else {
      older->retired.push_back(object);
    }
  }
  return true;
}

void VersionList::CountPins(Version& version, std::uint64_t replaced_word) {
  version.readers.fetch_add(static_cast<std::int64_t>(replaced_word & kCountMask),
                            std::memory_order_acq_rel);
}

Version* VersionList::NewVersion() {
  ++versions_;
  if (!unused_.empty()) {
    Version* version = unused_.back();
    unused_.pop_back();
    return version;
  }
  const std::size_t block = places_ / kBlockSize;
  KV_CHECK(block < kMaxBlocks, "too many states of the key index are being read at a time");
  if (blocks_[block] == nullptr) blocks_[block] = std::make_unique<Block>();
  Version* version = &(*blocks_[block])[places_ % kBlockSize];
  version->place = places_++;
  return version;
}

void VersionList::Drop(Version* version) {
  (version->older != nullptr ? version->older->newer : oldest_) = version->newer;
  version->newer->older = version->older;
  version->older = nullptr;
  version->newer = nullptr;
  // A list that was once long does not keep its memory for ever.
  constexpr std::size_t kKeptCapacity = 1024;
  if (version->retired.capacity() > kKeptCapacity) std::vector<Retired>().swap(version->retired);
  unused_.push_back(version);
  --versions_;
}

std::size_t VersionList::retired_objects() const {
  std::size_t count = 0;
  for (const Version* version = oldest_; version != nullptr; version = version->newer) {
    count += version->retired.size();
  }
  return count;
}

}  // namespace kvorum::mvcc::index
