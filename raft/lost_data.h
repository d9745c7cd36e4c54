// A member's knowledge that it lacks entries which it has acknowledged: its disk was wiped, or
// brought back from an older copy. Raft counts on such entries, so from then on this member has no
// vote and does not campaign, until a leader has given them back
// (docs/decisions/0053-members-that-lost-data.md).
//
// Threading: used by the raft executor only. Invariant: index() is 0 exactly if nothing is lacking.
#pragma once

#include "proto/raft_types.h"

namespace kvorum::raft {

class Log;

class LostData {
 public:
  // `index`: as it was when the member stopped.
  explicit LostData(Index index = 0) : index_(index) {}

  bool stands() const { return index_ != 0; }
  // The last entry that is known to have been acknowledged, and to be needed; at least 1.
  Index index() const { return index_; }

  // Entries up to `index` were acknowledged (1, if it is not known how many). Returns false if that
  // was known.
  bool Found(Index index);
  // A leader of `term` said, with an append that fits, that everything up to `commit` is committed.
  // The first one after the loss was found tells how much may have been acknowledged to this very
  // leader.
  void HeardCommit(Term term, Index commit);
  // True if no append of this term's leader that fits has come since the loss was found.
  bool WaitsForAppend(Term term) const { return stands() && heard_in_ != term; }
  // True if the log, as far as it is committed and on disk, holds all that was lost: entries of
  // earlier terms since it reaches into this term, whose leader had all of them, and entries of
  // this term since it reaches index().
  bool IsMadeGood(const Log& log, Term term) const;
  // True if the log, as far as it is committed and on disk, reaches index().
  bool IsReachedBy(const Log& log) const;
  void Forget() { *this = LostData(); }

 private:
  Index index_;
  Term heard_in_ = 0;  // the term of the last HeardCommit that counted
};

}  // namespace kvorum::raft
