// A key in the index and its revisions: one block of memory with the newest revision, and, for keys
// that were changed more than once, the start of the key's generation and its older revisions.
//
//   Entry | WideRevision (is_wide) | Origin (form >= kContinued) | Past (form == kWithPast) | key
//
// Nearly every entry is narrow: its eight bytes hold the revision and the size of the key. Large
// keys, the later changes of a large transaction and revisions beyond 2^42 have wide entries.
//
// An entry does not change once it was published; the writer replaces it. The older revisions are
// in a History that the successive entries of a key share: each knows how many records it may see,
// and the writer appends after those that any of them sees. So a change of a key with a million
// revisions costs the same as of one with two, and a lookup is a binary search.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string_view>

#include "mvcc/index/index_arena.h"
#include "mvcc/index/index_view.h"
#include "mvcc/records/revision.h"

namespace kvorum::mvcc::index {

// The compaction revision that never comes: nothing to drop.
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

struct HistoryRecord {
  std::int64_t main;
  std::uint32_t sub;
  // Bit 31: a tombstone. Others: the number of the generation's records before this one.
  std::uint32_t place;

  static constexpr std::uint32_t kTombstoneBit = 1U << 31;
  bool tombstone() const { return (place & kTombstoneBit) != 0; }
  std::uint32_t position() const { return place & ~kTombstoneBit; }
};
static_assert(sizeof(HistoryRecord) == 16);

struct History {
  std::uint64_t birth;  // the version of the tree that created it
  // The first record's: its generation may have begun earlier, with its older records compacted.
  std::int64_t first_created;
  std::int64_t first_version;
  std::uint32_t capacity;
  std::uint32_t unused;

  HistoryRecord* records() { return reinterpret_cast<HistoryRecord*>(this + 1); }
  const HistoryRecord* records() const { return reinterpret_cast<const HistoryRecord*>(this + 1); }

  static std::size_t SizeBytes(std::uint32_t capacity) {
    return sizeof(History) + capacity * sizeof(HistoryRecord);
  }
  std::size_t size_bytes() const { return SizeBytes(capacity); }
};

struct Entry {
  enum Form : std::uint32_t {
    kFirst = 0,      // a key put once, or a lone tombstone
    kContinued = 1,  // its generation is older than the revision
    kWithPast = 2,   // it has older revisions
  };
  struct Origin {
    std::int64_t created;
    std::int64_t version;
  };
  struct Past {
    History* history;
    std::uint32_t length;  // the number of its records that belong to this entry
    std::uint32_t unused;
  };

  // A wide entry's newest revision.
  struct WideRevision {
    std::int64_t main;
    std::uint32_t sub;
    std::uint32_t unused;
  };

  // From bit 0 on: form, tombstone, wide; narrow: key size, sub, main; wide: key size.
  std::uint64_t word;

  static constexpr std::uint64_t kFormMask = 3;
  static constexpr std::uint64_t kTombstoneBit = 4;
  static constexpr std::uint64_t kWideBit = 8;
  static constexpr int kSizeShift = 4;
  static constexpr int kSubShift = 15;
  static constexpr int kMainShift = 22;
  static constexpr std::uint64_t kNarrowSizes = 1U << (kSubShift - kSizeShift);
  static constexpr std::uint64_t kNarrowSubs = 1U << (kMainShift - kSubShift);
  static constexpr std::uint64_t kNarrowMains = std::uint64_t{1} << (64 - kMainShift);
  // No message of gRPC is larger.
  static constexpr std::size_t kMaxKeyBytes = std::numeric_limits<std::int32_t>::max();

  static bool IsNarrow(std::size_t key_bytes, Revision revision) {
    return key_bytes < kNarrowSizes && static_cast<std::uint64_t>(revision.sub) < kNarrowSubs &&
           static_cast<std::uint64_t>(revision.main) < kNarrowMains;
  }

  Form form() const { return static_cast<Form>(word & kFormMask); }
  bool tombstone() const { return (word & kTombstoneBit) != 0; }
  bool is_wide() const { return (word & kWideBit) != 0; }
  std::size_t key_bytes() const {
    const std::uint64_t size = word >> kSizeShift;
    return is_wide() ? size : size % kNarrowSizes;
  }
  std::string_view key() const { return {parts() + form() * std::size_t{16}, key_bytes()}; }
  // The newest revision.
  std::int64_t main() const {
    return is_wide() ? wide().main : static_cast<std::int64_t>(word >> kMainShift);
  }
  Revision revision() const {
    if (is_wide()) return {wide().main, wide().sub};
    return {static_cast<std::int64_t>(word >> kMainShift),
            static_cast<std::int64_t>((word >> kSubShift) % kNarrowSubs)};
  }
  // Returns true if this revision fits where the entry's own is.
  bool HasRoomFor(Revision revision) const { return is_wide() || IsNarrow(key_bytes(), revision); }
  // HasRoomFor(revision) must hold.
  void SetNewest(Revision revision, bool tombstone);

  // For the newest revision; meaningless for a tombstone.
  std::int64_t created() const { return form() == kFirst ? main() : origin().created; }
  std::int64_t version() const { return form() == kFirst ? 1 : origin().version; }

  // Only if form() >= kContinued.
  Origin& origin() { return *reinterpret_cast<Origin*>(parts()); }
  const Origin& origin() const { return *reinterpret_cast<const Origin*>(parts()); }
  // Only if form() == kWithPast.
  Past& past() { return *reinterpret_cast<Past*>(&origin() + 1); }
  const Past& past() const { return *reinterpret_cast<const Past*>(&origin() + 1); }

  std::uint32_t past_length() const { return form() == kWithPast ? past().length : 0; }

  static std::size_t SizeBytes(bool is_wide, Form form, std::size_t key_bytes) {
    return sizeof(Entry) + (is_wide ? sizeof(WideRevision) : 0) + form * std::size_t{16} +
           key_bytes;
  }
  std::size_t size_bytes() const { return SizeBytes(is_wide(), form(), key_bytes()); }

 private:
  WideRevision& wide() { return *reinterpret_cast<WideRevision*>(this + 1); }
  const WideRevision& wide() const { return *reinterpret_cast<const WideRevision*>(this + 1); }
  char* parts() {
    return reinterpret_cast<char*>(this + 1) + (is_wide() ? sizeof(WideRevision) : 0);
  }
  const char* parts() const { return const_cast<Entry*>(this)->parts(); }
};
static_assert(sizeof(Entry) == 8 && sizeof(Entry::WideRevision) == 16 &&
              sizeof(Entry::Origin) == 16 && sizeof(Entry::Past) == 16);

// --- Reading. All of a key's known revisions are numbered from 0, the oldest, on. ---

struct EntryRevision {
  Revision revision;
  bool tombstone = false;
};
inline std::uint32_t RevisionCount(const Entry& entry) { return entry.past_length() + 1; }
EntryRevision RevisionAt(const Entry& entry, std::uint32_t number);
// The newest one with main <= revision. O(log n).
std::optional<std::uint32_t> FindAtOrBefore(const Entry& entry, std::int64_t revision);
// The start of the generation, and the number of this put within it. For a put only.
Entry::Origin OriginOf(const Entry& entry, std::uint32_t number);

// The key's state at the revision; false if it does not live then.
bool LookUp(const Entry& entry, std::int64_t revision, IndexItem& item);
inline bool LivesAt(const Entry& entry, std::int64_t revision) {
  if (entry.main() <= revision) return !entry.tombstone();
  if (entry.form() != Entry::kWithPast) return false;
  const auto number = FindAtOrBefore(entry, revision);
  return number.has_value() && !RevisionAt(entry, *number).tombstone;
}

// The lowest compaction revision at which the entry has something to drop.
std::int64_t LowestCompaction(const Entry& entry);
// The result of a compaction at `revision`: the number of the first revision that stays, or
// RevisionCount if the key goes.
std::uint32_t FirstKept(const Entry& entry, std::int64_t revision);

// --- Writing. ---

// An entry without its origin and past, which the caller fills.
Entry* NewEntry(Arena& arena, Entry::Form form, Revision newest, bool tombstone,
                std::string_view key);
History* NewHistory(Arena& arena, std::uint32_t capacity, std::uint64_t birth, Entry::Origin first);
inline void FreeEntry(Arena& arena, Entry* entry) { arena.Free(entry, entry->size_bytes()); }
inline void FreeHistory(Arena& arena, History* history) {
  arena.Free(history, history->size_bytes());
}

// The newest revision of the entry as a record at the end of its history.
HistoryRecord NewestAsRecord(const Entry& entry);

}  // namespace kvorum::mvcc::index
