#include "mvcc/index/key_index.h"

#include <utility>

#include "mvcc/index/index_tree.h"
#include "mvcc/index/index_versions.h"

namespace kvorum::mvcc {

IndexSnapshot::IndexSnapshot(index::Version* pinned)
    : pinned_(pinned), view_(pinned->root, pinned->height), mark_(pinned->mark) {}

IndexSnapshot::IndexSnapshot(IndexSnapshot&& other) noexcept
    : pinned_(std::exchange(other.pinned_, nullptr)),
      view_(std::exchange(other.view_, IndexView())),
      mark_(other.mark_) {}

IndexSnapshot& IndexSnapshot::operator=(IndexSnapshot&& other) noexcept {
  std::swap(pinned_, other.pinned_);
  std::swap(view_, other.view_);
  std::swap(mark_, other.mark_);
  return *this;
}

IndexSnapshot::~IndexSnapshot() {
  if (pinned_ != nullptr) index::VersionList::Unpin(pinned_);
}

KeyIndex::KeyIndex()
    : tree_(std::make_unique<index::Tree>()),
      versions_(std::make_unique<index::VersionList>(tree_->arena())) {}

KeyIndex::~KeyIndex() = default;

IndexSnapshot KeyIndex::Snapshot() const { return IndexSnapshot(versions_->Pin()); }

KeyIndex::PutResult KeyIndex::Put(std::string_view key, Revision revision) {
  return tree_->Put(key, revision);
}

std::optional<Revision> KeyIndex::Tombstone(std::string_view key, Revision revision) {
  return tree_->Tombstone(key, revision);
}

IndexView KeyIndex::working() const { return tree_->view(); }

std::int64_t KeyIndex::live_keys() const { return tree_->live_keys(); }

void KeyIndex::Publish(IndexMark mark) {
  constexpr std::size_t kSomeMore = 64;
  constexpr std::size_t kLooks = 64;
  const std::size_t retired = tree_->retired().size();
  versions_->Publish(
      {.root = tree_->root(), .height = tree_->height(), .newest = tree_->newest(), .mark = mark},
      tree_->retired());
  tree_->StartBatch(versions_->current().number + 1);
  versions_->Collect(2 * retired + kSomeMore, kLooks);
}

bool KeyIndex::Reclaim(std::size_t max_objects) {
  return versions_->Collect(max_objects, versions_->versions());
}

void KeyIndex::CompactStep(std::int64_t revision, std::size_t max_entries,
                           CompactProgress& progress) {
  tree_->CompactStep(revision, max_entries, progress);
}

KeyIndex::Stats KeyIndex::stats() const {
  return {.bytes_in_use = tree_->arena().bytes_in_use(),
          .bytes_reserved = tree_->arena().bytes_reserved(),
          .retired_objects = versions_->retired_objects() + tree_->retired().size(),
          .snapshots_seen = versions_->versions(),
          .height = tree_->height()};
}

std::size_t KeyIndex::reserved_bytes() const { return tree_->arena().bytes_reserved(); }

void KeyIndex::CheckInvariants() const { tree_->CheckInvariants(); }

}  // namespace kvorum::mvcc
