#include "raft/lost_data.h"

#include <algorithm>

#include "raft/log.h"

namespace kvorum::raft {

namespace {

Index HeldBy(const Log& log) { return std::min(log.persisted(), log.committed()); }

}  // namespace

bool LostData::Found(Index index) {
  if (index <= index_) return false;
  index_ = index;
  heard_in_ = 0;
  return true;
}

void LostData::HeardCommit(Term term, Index commit) {
  if (!stands() || heard_in_ == term) return;
  heard_in_ = term;
  index_ = std::max(index_, commit);
}

bool LostData::IsMadeGood(const Log& log, Term term) const {
  return heard_in_ == term && IsReachedBy(log) && log.TermAt(HeldBy(log)) == term;
}

bool LostData::IsReachedBy(const Log& log) const { return HeldBy(log) >= index_; }

}  // namespace kvorum::raft
