// The check of a history in which every acknowledged operation has its revision: the revisions are
// the order. It remains to find which of the operations with an unknown outcome made the revisions
// that no client heard of: a search, shortened by later answers (observations.h). O(n log n) if no
// outcome is unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "tests/linearizability/history.h"
#include "tests/linearizability/kv_model.h"
#include "tests/linearizability/observations.h"
#include "tests/linearizability/verdict.h"

namespace kvorum::linearizability {

class RevisionOrder {
 public:
  // The history must outlive it.
  RevisionOrder(const History& history, std::size_t max_steps);
  Verdict Check();

 private:
  struct Unknown {
    const Operation* operation;
    // The first revision that it can have made: one more than those acknowledged before its call.
    std::int64_t first_revision;
    // A client saw one of its values in a revision whose number no client heard.
    bool claimed = false;
    bool used = false;
  };
  // A revision that no client heard of, and the operations that may have made it.
  struct Choice {
    KvModel::Mark before;
    std::vector<std::size_t> candidates;  // in unknown_
    std::size_t next = 0;
    std::optional<std::size_t> current;
  };
  using Finding = std::optional<Verdict>;

  Finding Sort();
  Finding CheckTimes();
  Verdict Replay();

  // These return false if the order up to here is impossible, and keep the reason.
  bool Advance();
  bool ApplyAcknowledged(const Operation& operation);
  bool BeginChoice();
  bool TryNext();
  bool CheckReads();

  bool Fits(KvModel::Mark before) const;
  int Rank(const Unknown& unknown, std::int64_t revision) const;
  void Release(Choice& choice);

  bool WrongAnswer(const Operation& operation, const Difference& difference);
  bool Unexplained(std::int64_t revision);
  void AppendMaker(std::string& text, std::int64_t revision) const;

  const History& history_;
  const std::size_t max_steps_;
  KvModel model_;
  Observations observations_;
  std::map<std::int64_t, const Operation*> writes_;
  std::map<std::int64_t, std::vector<const Operation*>> reads_;
  std::vector<Unknown> unknown_;
  std::int64_t last_revision_;
  std::vector<Choice> choices_;
  std::unordered_set<std::uint64_t> refuted_;
  std::map<std::int64_t, const Operation*> chosen_;
  std::size_t steps_ = 0;
  // Why it went no further than the furthest revision that was reached.
  Verdict furthest_;
  std::int64_t furthest_revision_ = -1;
};

}  // namespace kvorum::linearizability
