#include "raft/log.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/check.h"

namespace kvorum::raft {

Log::Log(Index snapshot_index, Term snapshot_term, std::vector<Entry> entries)
    : snapshot_index_(snapshot_index),
      snapshot_term_(snapshot_term),
      entries_(std::move(entries)),
      given_(last_index()),
      persisted_(last_index()),
      committed_(snapshot_index),
      applying_(snapshot_index),
      applied_(snapshot_index) {
  for (const Entry& entry : entries_) {
    size_bytes_ += SizeBytes(entry);
    uncommitted_data_bytes_ += entry.data.size();
  }
}

std::optional<Term> Log::TermAt(Index index) const {
  if (index == snapshot_index_) return snapshot_term_;
  if (index > last_index() || index < continues_from()) return std::nullopt;
  if (index > snapshot_index_) return At(index).term;
  const auto next = std::ranges::upper_bound(stored_terms_, index, {}, &TermRun::first);
  return std::prev(next)->term;
}

void Log::KeepStored(Index from) {
  if (from == 0) {
    stored_from_ = 0;
    stored_terms_.clear();
    return;
  }
  if (stored_from_ == 0) {
    stored_from_ = std::max(from, snapshot_index_);
    if (stored_from_ == snapshot_index_)
      stored_terms_.push_back({.first = snapshot_index_, .term = snapshot_term_});
    return;
  }
  stored_from_ = std::max(stored_from_, from);
  const auto next = std::ranges::upper_bound(stored_terms_, stored_from_, {}, &TermRun::first);
  if (next != stored_terms_.begin()) stored_terms_.erase(stored_terms_.begin(), std::prev(next));
}

// Raft: paper 5.4.1
bool Log::IsUpToDate(Index last_index, Term last_term) const {
  const Term our_term = this->last_term();
  return last_term > our_term || (last_term == our_term && last_index >= this->last_index());
}

Log::Position Log::FindConflictByTerm(Index index, Term term) const {
  index = std::min(index, last_index());
  while (true) {
    const std::optional<Term> our_term = TermAt(index);
    if (!our_term.has_value()) return {.index = index, .term = 0};
    if (*our_term <= term) return {.index = index, .term = *our_term};
    if (index == 0) return {};
    --index;
  }
}

std::span<const Entry> Log::Range(Index from, Index to) const {
  if (from > to) return {};
  KV_CHECK(from > snapshot_index_ && to <= last_index(), "range outside of the log");
  return std::span(entries_).subspan(begin_ + (from - first_index()), to - from + 1);
}

std::span<const Entry> Log::Range(Index from, Index to, std::size_t max_size_bytes) const {
  const std::span<const Entry> all = Range(from, to);
  std::size_t size_bytes = 0;
  std::size_t count = 0;
  while (count < all.size()) {
    size_bytes += SizeBytes(all[count]);
    if (size_bytes > max_size_bytes && count > 0) break;
    ++count;
  }
  return all.first(count);
}

void Log::Append(Entry entry) {
  KV_CHECK(entry.index == last_index() + 1, "entry does not follow the log");
  KV_CHECK(entry.term >= last_term(), "entry of an older term than the log's");
  size_bytes_ += SizeBytes(entry);
  uncommitted_data_bytes_ += entry.data.size();
  entries_.push_back(std::move(entry));
}

void Log::TruncateFrom(Index index) {
  KV_CHECK(index > committed_, "truncating what is committed");
  if (index > last_index()) return;
  for (const Entry& entry : Range(index, last_index())) {
    size_bytes_ -= SizeBytes(entry);
    uncommitted_data_bytes_ -= entry.data.size();
  }
  entries_.resize(begin_ + (index - first_index()));
  given_ = std::min(given_, index - 1);
  persisted_ = std::min(persisted_, index - 1);
}

std::span<const Entry> Log::TakeUnwritten() {
  const Index from = std::exchange(given_, last_index()) + 1;
  return Range(from, last_index());
}

void Log::SetPersisted(Index index) {
  KV_CHECK(index <= given_, "persisted what was not given to the disk");
  persisted_ = std::max(persisted_, index);
}

void Log::CommitTo(Index index) {
  KV_CHECK(index <= last_index(), "commit beyond the log");
  for (const Entry& entry : Range(committed_ + 1, index)) {
    unapplied_size_bytes_ += SizeBytes(entry);
    uncommitted_data_bytes_ -= entry.data.size();
  }
  committed_ = std::max(committed_, index);
}

bool Log::HasNextToApply() const {
  // While a restored snapshot is installed, applied is less than applying and there are no entries
  // between them.
  return applying_ < std::min(committed_, persisted_) && applied_ >= snapshot_index_;
}

std::span<const Entry> Log::NextToApply(std::size_t max_size_bytes) const {
  if (!HasNextToApply()) return {};
  return Range(applying_ + 1, std::min(committed_, persisted_), max_size_bytes);
}

void Log::SetApplying(Index index) {
  KV_CHECK(index >= applying_ && index <= std::min(committed_, persisted_),
           "giving out what is not committed and durable");
  for (const Entry& entry : Range(std::max(applying_ + 1, first_unapplied()), index))
    applying_size_bytes_ += SizeBytes(entry);
  applying_ = index;
}

void Log::SetApplied(Index index) {
  KV_CHECK(index >= applied_, "applied goes back");
  KV_CHECK(index <= applying_, "an entry was applied before it was given out");
  std::size_t size_bytes = 0;
  for (const Entry& entry : Range(first_unapplied(), index)) size_bytes += SizeBytes(entry);
  unapplied_size_bytes_ -= size_bytes;
  applying_size_bytes_ -= size_bytes;
  applied_ = index;
}

// Raft: paper 7
void Log::Compact(Index index, std::size_t keep_entries, std::size_t keep_size_bytes) {
  index = std::min(index, applied_);
  while (snapshot_index_ < index && (size() > keep_entries || size_bytes_ > keep_size_bytes)) {
    Entry& first = entries_[begin_];
    size_bytes_ -= SizeBytes(first);
    snapshot_term_ = first.term;
    first.data = {};
    ++snapshot_index_;
    ++begin_;
    const bool is_new = stored_terms_.empty() || stored_terms_.back().term != snapshot_term_;
    if (stored_from_ != 0 && snapshot_index_ >= stored_from_ && is_new)
      stored_terms_.push_back({.first = snapshot_index_, .term = snapshot_term_});
  }
  if (begin_ <= size()) return;
  entries_.erase(entries_.begin(), entries_.begin() + static_cast<std::ptrdiff_t>(begin_));
  begin_ = 0;
}

void Log::Restore(Index index, Term term) {
  KV_CHECK(index > committed_, "restoring a snapshot of what is committed");
  KeepStored(0);
  entries_.clear();
  begin_ = 0;
  size_bytes_ = 0;
  unapplied_size_bytes_ = 0;
  applying_size_bytes_ = 0;
  uncommitted_data_bytes_ = 0;
  snapshot_index_ = index;
  snapshot_term_ = term;
  given_ = index;
  committed_ = index;
  // The snapshot is not on disk yet: no later entry is given out before it is applied
  // (HasNextToApply), and it is not acknowledged before its write is durable.
  persisted_ = index;
  applying_ = index;
}

void Log::CheckInvariants() const {
  KV_CHECK(begin_ <= entries_.size(), "the log's first entry lies behind its last");
  KV_CHECK(snapshot_index_ <= applying_ && applied_ <= applying_, "log marks out of order");
  KV_CHECK(applying_ <= committed_ && committed_ <= last_index(), "log marks out of order");
  KV_CHECK(applying_ <= persisted_ && persisted_ <= given_, "log marks out of order");
  KV_CHECK(given_ <= last_index(), "log marks out of order");
  KV_CHECK(continues_from() == snapshot_index_ ||
               (!stored_terms_.empty() && stored_terms_.front().first <= continues_from() &&
                stored_terms_.back().first <= snapshot_index_),
           "the terms of stored entries have a gap");
  Index index = snapshot_index_;
  Term term = snapshot_term_;
  std::size_t size_bytes = 0;
  std::size_t unapplied_size_bytes = 0;
  std::size_t applying_size_bytes = 0;
  std::size_t uncommitted_data_bytes = 0;
  for (const Entry& entry : Range(first_index(), last_index())) {
    KV_CHECK(entry.index == ++index, "the log has a gap");
    KV_CHECK(entry.term >= term, "the log's terms go back");
    term = entry.term;
    size_bytes += SizeBytes(entry);
    if (entry.index > applied_ && entry.index <= committed_)
      unapplied_size_bytes += SizeBytes(entry);
    if (entry.index > applied_ && entry.index <= applying_) applying_size_bytes += SizeBytes(entry);
    if (entry.index > committed_) uncommitted_data_bytes += entry.data.size();
  }
  KV_CHECK(size_bytes == size_bytes_, "the log's size is not that of its entries");
  KV_CHECK(unapplied_size_bytes == unapplied_size_bytes_, "what is not applied is miscounted");
  KV_CHECK(applying_size_bytes == applying_size_bytes_, "what is being applied is miscounted");
  KV_CHECK(uncommitted_data_bytes == uncommitted_data_bytes_, "uncommitted data is miscounted");
}

}  // namespace kvorum::raft
