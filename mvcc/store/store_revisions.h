// The revisions of a store: as its writer works on them, and as readers were shown them last.
//
// Threads: shown() and shown_compact() are for any thread, the rest is for the apply executor.
// Invariants (CheckInvariants): readers are never ahead of the writer, and go back only to another
// content (Begin); what is compacted is not in the future.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/check.h"
#include "mvcc/index/key_index.h"

namespace kvorum::mvcc {

class StoreRevisions {
 public:
  // Readers may see these before or after the index's own mark, which is authoritative for them.
  std::int64_t shown() const { return shown_.load(std::memory_order_acquire); }
  std::int64_t shown_compact() const { return shown_compact_.load(std::memory_order_acquire); }

  // The revision after the entries so far.
  std::int64_t working() const { return working_.current_revision; }
  std::int64_t compacted() const { return working_.compact_revision; }

  // Begins at a content that readers see already, with the number beside it.
  void Begin(std::int64_t revision, std::int64_t compact_revision, std::uint64_t side_version) {
    working_ = {.current_revision = revision,
                .compact_revision = compact_revision,
                .side_version = side_version};
    Show();
  }
  void Advance(std::int64_t revision) { working_.current_revision = revision; }
  void Compact(std::int64_t revision) {
    working_.compact_revision = revision;
    hidden_ = true;
  }
  void SetSideVersion(std::uint64_t version) {
    working_.side_version = version;
    hidden_ = true;
  }
  // The index has changed.
  void Hide() { hidden_ = true; }
  // True if the index, or its mark, differs from what readers see.
  bool hidden() const { return hidden_; }

  // The mark with which the index is to be published; Show follows.
  const IndexMark& mark() const { return working_; }
  void Show() {
    hidden_ = false;
    shown_.store(working_.current_revision, std::memory_order_release);
    shown_compact_.store(working_.compact_revision, std::memory_order_release);
  }

  void CheckInvariants() const {
    KV_CHECK(shown() <= working(), "readers are ahead of the writer");
    KV_CHECK(shown_compact() <= compacted(), "readers are ahead of compactions");
    KV_CHECK(compacted() <= working(), "the future is compacted");
  }

 private:
  std::atomic<std::int64_t> shown_{1};
  std::atomic<std::int64_t> shown_compact_{-1};
  IndexMark working_;
  bool hidden_ = false;
};

}  // namespace kvorum::mvcc
