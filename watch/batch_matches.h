// The groups of watchers that the events of one batch concern, each with the places of its events.
//
// Used by the shard's executor. Reused from batch to batch: no allocation once it has grown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "watch/range_index.h"
#include "watch/watcher.h"

namespace kvorum::watch {

class BatchMatches {
 public:
  // Finds the groups with synced watchers. A batch has a size, and a key in each event.
  template <class Batch>
  void Find(const RangeIndex<WatchGroup>& groups, const Batch& batch) {
    groups_.clear();
    for (std::uint32_t i = 0; i < batch.size(); ++i) {
      groups.Match(batch[i].key, [&](WatchGroup& group) {
        if (group.synced.empty()) return;
        if (group.match == 0) {
          groups_.push_back(&group);
          group.match = static_cast<std::uint32_t>(groups_.size());
          if (places_.size() < groups_.size()) places_.emplace_back();
        }
        places_[group.match - 1].push_back(i);
      });
    }
  }

  // Visits (group, places) of what was found, once.
  template <class Visitor>
  void TakeEach(Visitor&& visit) {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
      groups_[i]->match = 0;
      visit(*groups_[i], std::span<const std::uint32_t>(places_[i]));
      places_[i].clear();
    }
  }

 private:
  std::vector<WatchGroup*> groups_;
  std::vector<std::vector<std::uint32_t>> places_;  // by WatchGroup::match - 1
};

}  // namespace kvorum::watch
