#include "raft/lost_data.h"

#include <algorithm>

#include "raft/log.h"

namespace kvorum::raft {

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
  const Index held = std::min(log.persisted(), log.committed());
  return heard_in_ == term && held >= index_ && log.TermAt(held) == term;
}

}  // namespace kvorum::raft
