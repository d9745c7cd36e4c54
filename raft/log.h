// A member's log: the entries after the last compaction in memory, and the marks up to which they
// are durable, committed, given out and applied.
//
// Threading: used by the raft executor only. Ownership: entries share their data. Invariants (the
// order of the marks, checked by CheckInvariants):
//   snapshot_index <= applied <= applying <= committed <= last
//     (but while a restored snapshot is being installed, applied is less than snapshot_index)
//   applying <= persisted <= given <= last
// where `given` are the entries that went out in a Ready to be written, `persisted` those that are
// on disk, and `applying` those that went out to be applied: only entries that are both durable
// here and committed, so that a state machine is never ahead of the local log.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "proto/raft_types.h"

namespace kvorum::raft {

// The size of an entry for the bounds of messages and memory: its data and the struct around it.
inline std::size_t SizeBytes(const Entry& entry) { return entry.data.size() + sizeof(Entry); }

class Log {
 public:
  // The entries come after the snapshot and are on disk.
  Log(Index snapshot_index, Term snapshot_term, std::vector<Entry> entries);

  Index snapshot_index() const { return snapshot_index_; }
  Index first_index() const { return snapshot_index_ + 1; }
  Index last_index() const { return snapshot_index_ + size(); }
  Term last_term() const { return size() == 0 ? snapshot_term_ : entries_.back().term; }
  Index persisted() const { return persisted_; }
  Index committed() const { return committed_; }
  Index applying() const { return applying_; }
  Index applied() const { return applied_; }
  // The first entry in memory that is not applied, if there is one. Entries that a restored
  // snapshot contains are not in memory, and the applied index is less than the snapshot's until it
  // is installed.
  Index first_unapplied() const { return std::max(applied_ + 1, first_index()); }
  std::size_t size() const { return entries_.size() - begin_; }
  std::size_t size_bytes() const { return size_bytes_; }
  // The size of the entries that are committed and not applied.
  std::size_t unapplied_size_bytes() const { return unapplied_size_bytes_; }
  // The size of the entries that were given out to be applied and are not applied yet.
  std::size_t applying_size_bytes() const { return applying_size_bytes_; }
  // The size of the data alone in (committed, last]: an entry without data counts nothing.
  std::size_t uncommitted_data_bytes() const { return uncommitted_data_bytes_; }

  // Known for the snapshot's index and the entries after it, and for those that are stored.
  std::optional<Term> TermAt(Index index) const;
  // Entries from `from` on, those that were in memory at the first such call, can be read elsewhere
  // when they have left the memory: their terms stay known. 0: none.
  void KeepStored(Index from);
  // The first index that is known, of those without a gap up to the last one.
  Index continues_from() const {
    return stored_from_ == 0 ? snapshot_index_ : std::min(stored_from_, snapshot_index_);
  }
  // The terms of stored entries, each from its first index up to that of the next one.
  struct TermRun {
    Index first = 0;
    Term term = 0;

    friend bool operator==(const TermRun&, const TermRun&) = default;
  };
  const std::vector<TermRun>& stored_terms() const { return stored_terms_; }
  bool Matches(Index index, Term term) const { return TermAt(index) == term; }
  // True if a log with this end has every entry that ours may have committed (paper, section
  // 5.4.1).
  bool IsUpToDate(Index last_index, Term last_term) const;
  // The last index up to `index` whose term is at most `term`: the last index at which a log with
  // an entry (index, term) and ours may agree. For entries no longer in memory the term is unknown
  // (0).
  struct Position {
    Index index = 0;
    Term term = 0;
  };
  Position FindConflictByTerm(Index index, Term term) const;

  // The entries from `from` to `to`, both included and in memory; valid until the next change.
  std::span<const Entry> Range(Index from, Index to) const;
  // The same up to max_size_bytes, but one entry at least.
  std::span<const Entry> Range(Index from, Index to, std::size_t max_size_bytes) const;

  // Appends the next entry; its index is last_index() + 1.
  void Append(Entry entry);
  // Drops the entries from this index on; none of them may be committed.
  void TruncateFrom(Index index);

  // Entries that were in no Ready yet; they count as given from now on.
  std::span<const Entry> TakeUnwritten();
  bool HasUnwritten() const { return given_ < last_index(); }
  void SetPersisted(Index index);
  void CommitTo(Index index);
  // Committed, durable entries that were in no Ready yet, up to max_size_bytes (at least one).
  std::span<const Entry> NextToApply(std::size_t max_size_bytes) const;
  bool HasNextToApply() const;
  void SetApplying(Index index);
  void SetApplied(Index index);

  // Drops entries up to `index`, as long as more than keep_entries or keep_size_bytes are in
  // memory. Never drops unapplied ones.
  void Compact(Index index, std::size_t keep_entries, std::size_t keep_size_bytes);
  // Replaces the whole log by a snapshot that still has to be written and installed.
  void Restore(Index index, Term term);

  void CheckInvariants() const;

 private:
  const Entry& At(Index index) const { return entries_[begin_ + (index - first_index())]; }

  Index snapshot_index_;
  Term snapshot_term_;
  // entries_[begin_] is the first one. Entries before it are compacted and empty; they are erased
  // when they outnumber the others, so that compaction costs O(1) per entry and ranges are spans.
  std::vector<Entry> entries_;
  std::size_t begin_ = 0;
  std::size_t size_bytes_ = 0;
  std::size_t unapplied_size_bytes_ = 0;
  std::size_t applying_size_bytes_ = 0;
  std::size_t uncommitted_data_bytes_ = 0;

  Index stored_from_ = 0;  // 0: nothing is
  std::vector<TermRun> stored_terms_;

  Index given_;
  Index persisted_;
  Index committed_;
  Index applying_;
  Index applied_;
};

}  // namespace kvorum::raft
