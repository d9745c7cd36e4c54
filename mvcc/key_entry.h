// A key in the index and its revisions: one block of memory with the newest revision, and, for keys
// that were changed more than once, the start of the key's generation and its older revisions.
//
//   Entry | Origin (form >= kContinued) | Past (form == kWithPast) | key bytes
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

#include "mvcc/index_arena.h"
#include "mvcc/index_view.h"
#include "mvcc/revision.h"

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

  std::int64_t main;  // the newest revision
  std::uint32_t sub;
  std::uint32_t bits;  // key size, tombstone, form

  static constexpr std::uint32_t kFormMask = 3;
  static constexpr std::uint32_t kTombstoneBit = 4;
  static constexpr int kSizeShift = 3;
  static constexpr std::size_t kMaxKeyBytes =
      std::numeric_limits<std::uint32_t>::max() >> kSizeShift;

  Form form() const { return static_cast<Form>(bits & kFormMask); }
  bool tombstone() const { return (bits & kTombstoneBit) != 0; }
  Revision revision() const { return {main, sub}; }
  std::string_view key() const {
    return {reinterpret_cast<const char*>(this + 1) + form() * std::size_t{16}, bits >> kSizeShift};
  }

  // For the newest revision; meaningless for a tombstone.
  std::int64_t created() const { return form() == kFirst ? main : origin().created; }
  std::int64_t version() const { return form() == kFirst ? 1 : origin().version; }

  // Only if form() >= kContinued.
  Origin& origin() { return *reinterpret_cast<Origin*>(this + 1); }
  const Origin& origin() const { return *reinterpret_cast<const Origin*>(this + 1); }
  // Only if form() == kWithPast.
  Past& past() { return *reinterpret_cast<Past*>(&origin() + 1); }
  const Past& past() const { return *reinterpret_cast<const Past*>(&origin() + 1); }

  std::uint32_t past_length() const { return form() == kWithPast ? past().length : 0; }

  static std::size_t SizeBytes(Form form, std::size_t key_bytes) {
    return sizeof(Entry) + form * std::size_t{16} + key_bytes;
  }
  std::size_t size_bytes() const { return SizeBytes(form(), bits >> kSizeShift); }
};
static_assert(sizeof(Entry) == 16 && sizeof(Entry::Origin) == 16 && sizeof(Entry::Past) == 16);

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
  if (entry.main <= revision) return !entry.tombstone();
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

// A block for an entry; the caller fills everything but `bits` and the key.
Entry* NewEntry(Arena& arena, Entry::Form form, bool tombstone, std::string_view key);
History* NewHistory(Arena& arena, std::uint32_t capacity, std::uint64_t birth, Entry::Origin first);
inline void FreeEntry(Arena& arena, Entry* entry) { arena.Free(entry, entry->size_bytes()); }
inline void FreeHistory(Arena& arena, History* history) {
  arena.Free(history, history->size_bytes());
}

// The newest revision of the entry as a record at the end of its history.
HistoryRecord NewestAsRecord(const Entry& entry);

}  // namespace kvorum::mvcc::index
