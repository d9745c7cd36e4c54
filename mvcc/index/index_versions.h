// The published states of the key index, their readers, and the freeing of objects that no reader
// can see any more.
//
// Counting is per version, not per node, so that copying a node touches no counter. An object that
// the writer replaces was visible in the versions from its birth up to the newest published one,
// and goes on that version's list. When a version has no reader any more, each object on its list
// is freed if it was created after the next older version, and otherwise moves to that version's
// list. So a long-lived reader keeps what it can see, and nothing that came and went after it.
//
// Pin may be called by any thread, everything else by the writer; any thread counts a pinned
// version's `readers` down. One word holds the number of the published version and how many have
// pinned it since: a reader pins with one atomic add and needs no loop; when the writer replaces
// the word it learns the exact count and adds it to the version's own, which releases count down.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "mvcc/index/index_arena.h"
#include "mvcc/index/index_node.h"
#include "mvcc/index/key_index.h"

namespace kvorum::mvcc::index {

// An object that the working tree no longer uses, but older versions do.
class Retired {
 public:
  explicit Retired(Entry* entry) : word_(reinterpret_cast<std::uintptr_t>(entry) | kEntry) {}
  explicit Retired(History* history)
      : word_(reinterpret_cast<std::uintptr_t>(history) | kHistory) {}
  explicit Retired(Leaf* leaf) : word_(reinterpret_cast<std::uintptr_t>(leaf) | kLeaf) {}
  explicit Retired(Inner* inner) : word_(reinterpret_cast<std::uintptr_t>(inner) | kInner) {}

  // True if it was created after the version was published. An entry has no birth date, but did not
  // exist before its newest revision; for one made by a compaction this errs on the safe side.
  bool BornAfter(std::uint64_t version_number, std::int64_t version_newest) const;
  void Free(Arena& arena) const;

 private:
  enum Kind : std::uintptr_t { kEntry, kHistory, kLeaf, kInner };
  static constexpr std::uintptr_t kKindMask = 7;
  template <typename T>
  T* As() const {
    return reinterpret_cast<T*>(word_ & ~kKindMask);
  }

  std::uintptr_t word_;
};

struct Version {
  // Set before it is published, read by anyone who has pinned it.
  const Node* root = nullptr;
  int height = 0;
  IndexMark mark;

  // Pins counted (by Publish) less pins released: negative before the first count, exact
  // afterwards.
  std::atomic<std::int64_t> readers{0};

  // The writer's.
  std::uint64_t number = 0;
  std::int64_t newest = 0;  // the highest main revision in it
  std::uint32_t place = 0;  // in the table
  Version* older = nullptr;
  Version* newer = nullptr;
  std::vector<Retired> retired;
};

class VersionList {
 public:
  // Starts with an empty tree published as version 0.
  explicit VersionList(Arena& arena);
  ~VersionList();  // there must be no reader
  VersionList(const VersionList&) = delete;
  VersionList& operator=(const VersionList&) = delete;

  Version* Pin() const;
  static void Unpin(Version* version) { version->readers.fetch_sub(1, std::memory_order_release); }

  struct State {
    const Node* root = nullptr;
    int height = 0;
    std::int64_t newest = 0;
    IndexMark mark;
  };
  // Publishes the state as the version after the current one. `retired` has the objects that the
  // current one still shows and the new one no longer does; it is left empty.
  void Publish(const State& state, std::vector<Retired>& retired);
  // Frees up to max_objects objects that no reader sees; returns true if it stopped at that limit.
  // Examines up to max_looks versions, in turn: one that has readers costs a look and frees
  // nothing.
  bool Collect(std::size_t max_objects, std::size_t max_looks);

  const Version& current() const { return *current_; }
  std::size_t retired_objects() const;
  std::size_t versions() const { return versions_; }

 private:
  static constexpr int kCountBits = 44;
  static constexpr std::uint64_t kCountMask = (std::uint64_t{1} << kCountBits) - 1;
  static constexpr std::size_t kBlockSize = 256;
  // A million versions with readers at a time: more than there can be requests in flight.
  static constexpr std::size_t kMaxBlocks = (std::size_t{1} << (64 - kCountBits)) / kBlockSize;
  using Block = std::array<Version, kBlockSize>;

  static std::uint64_t Word(const Version& version) {
    return std::uint64_t{version.place} << kCountBits;
  }
  Version* NewVersion();
  void Drop(Version* version);
  // Moves the pins since the last call from the word to the version's count.
  void CountPins(Version& version, std::uint64_t replaced_word);
  // Frees or moves the objects of a version without readers. Returns false if the budget did not
  // suffice.
  bool Dissolve(Version& version, std::size_t& budget);

  Arena& arena_;
  mutable std::atomic<std::uint64_t> published_;  // place << kCountBits | pins
  std::array<std::unique_ptr<Block>, kMaxBlocks> blocks_;
  std::vector<Version*> unused_;
  std::uint32_t places_ = 0;
  Version* current_ = nullptr;
  Version* oldest_ = nullptr;
  Version* next_to_check_ = nullptr;
  std::size_t versions_ = 0;
};

}  // namespace kvorum::mvcc::index
