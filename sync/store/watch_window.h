// The batches of a watch that have been delivered and not used: how many there may be, and of how
// many bytes.
//
// For one thread at a time. Memory: a number for each batch that is ahead.
#pragma once

#include <cstddef>
#include <deque>

#include "sync/store/store.h"

namespace kvorum::sync {

class WatchWindow {
 public:
  // The next batch, of any size, may be delivered.
  bool has_room() const { return ahead_.size() < kWatchWindow && bytes_ < kWatchWindowBytes; }
  void Add(std::size_t bytes) {
    ahead_.push_back(bytes);
    bytes_ += bytes;
  }
  // The oldest has been used.
  void Take() {
    bytes_ -= ahead_.front();
    ahead_.pop_front();
  }

 private:
  std::deque<std::size_t> ahead_;
  std::size_t bytes_ = 0;
};

}  // namespace kvorum::sync
