// Decides whether a history is linearizable: whether one store, doing each operation at one moment
// between its call and its return, could have given these answers.
//
// If every acknowledged operation has its revision, the revisions are the order, and checking it is
// a sort and a replay (revision_order.h). Otherwise the order is searched for (search.h), key by
// key if no operation has a revision or touches several keys. Pure, one thread, no limits except
// `max_steps`: past that the verdict is kUndecided, which a test treats as a failure.
#pragma once

#include <cstddef>

#include "tests/linearizability/history.h"
#include "tests/linearizability/verdict.h"

namespace kvorum::linearizability {

struct CheckOptions {
  std::size_t max_steps = 5'000'000;
};

Verdict CheckHistory(const History& history, const CheckOptions& options = {});

}  // namespace kvorum::linearizability
