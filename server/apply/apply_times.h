// The time that entries take to be applied, by their kind, for the metrics.
//
// Count and Observe belong to the apply executor, ForEach to any thread. The entries of a batch
// share its time equally: a look at the clock for each would cost more than many of them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "api/entries/request_kind.h"
#include "base/metric.h"

namespace kvorum::server {

class ApplyTimes {
 public:
  // An entry of the present batch.
  void Count(RequestKind kind, bool succeeded) {
    if (batch_.empty() || batch_.back().first != Key{kind, succeeded})
      batch_.emplace_back(Key{kind, succeeded}, 0);
    ++batch_.back().second;
  }
  // Ends the batch.
  void Observe(Duration took);

  // `op` is the kind's name in etcd's metrics.
  using Visit = std::function<void(std::string_view op, bool succeeded, const Histogram& times)>;
  void ForEach(const Visit& visit) const;

 private:
  using Key = std::pair<RequestKind, bool>;

  // Runs of equal entries.
  std::vector<std::pair<Key, std::uint64_t>> batch_;
  mutable std::mutex mutex_;  // guards the map, not its histograms
  std::map<Key, Histogram> times_;
};

}  // namespace kvorum::server
