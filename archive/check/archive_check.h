// Reads an archive through: every object of all histories, or of one, against its name, its
// checksums and the others; then what can still be restored without those that are damaged.
//
// A server may archive meanwhile. Each object of the first listing is read once; a missing
// one is looked for again in later listings, before it is a finding.
//
// Used by one thread at a time, which the store's calls block. Memory: the names, one object packed
// and unpacked, and the findings (Report::kMaxFindings).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "archive/catalog/contents.h"
#include "archive/catalog/ranges.h"
#include "archive/check/finding.h"
#include "archive/format/names.h"
#include "archive/store/object_store.h"
#include "archive/store/stop_signal.h"
#include "base/clock.h"

namespace kvorum::archive {

struct CheckOptions {
  // nullopt: all histories.
  std::optional<HistoryId> history;
  // A missing object is looked for once more, and then each second for so long.
  Duration patience = std::chrono::seconds(5);
  // Called after each object. May be empty.
  std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)> on_progress;
};

struct Checked {
  // In the order in which they were found; at most Report::kMaxFindings.
  std::vector<Finding> findings;
  // Findings of damage, those that were left out included.
  std::uint64_t damage_count = 0;
  std::uint64_t objects = 0;
  std::uint64_t size_bytes = 0;
  // The contents without what is damaged, and the states that can be restored by them.
  Contents sound;
  std::map<HistoryId, std::vector<StateRange>> ranges;

  bool is_whole() const { return damage_count == 0; }
};

// kAbsent if the history is not there; otherwise an error is the store's.
StoreResult<Checked> CheckArchive(ObjectStore& store, StopSignal& stop,
                                  const CheckOptions& options);

}  // namespace kvorum::archive
