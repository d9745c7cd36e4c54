// The general search for an order: Wing and Gong's, with Lowe's memoisation of (ordered operations,
// state) as in Porcupine. It needs no revisions, and so it also checks the quick way
// (revision_order.h) in tests. Exponential in the number of overlapping operations.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "tests/linearizability/history.h"
#include "tests/linearizability/kv_model.h"

namespace kvorum::linearizability {

struct SearchResult {
  enum class Kind : std::uint8_t { kOrdered, kImpossible, kGaveUp };
  Kind kind = Kind::kOrdered;
  // The longest order that was found, as positions in `operations`.
  std::vector<std::size_t> longest;
};

// Tries at most `max_steps` placements. Serializable reads are refused: they have no place in an
// order by time.
SearchResult Search(KvModel model, std::span<const Operation* const> operations,
                    std::size_t max_steps);

}  // namespace kvorum::linearizability
