// The published batches that wait for a shard. Past its bounds they give way to the news that the
// store has reached a revision: the shard then reads what it missed.
//
// Guarded by the hub's lock. The batches are shared.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "watch/event_batch.h"

namespace kvorum::watch {

// A batch, or (null) the news that the store reached this revision in another way.
struct Feed {
  std::shared_ptr<const EventBatch> batch;
  std::int64_t revision = 0;
  bool is_other_history = false;  // what watchers have received so far is not of it
};

class FeedBox {
 public:
  FeedBox(std::size_t max_batches, std::size_t max_bytes)
      : max_batches_(max_batches), max_bytes_(max_bytes) {}

  // Returns true if the shard is to be woken: it was not since it last took what was here.
  bool Put(const std::shared_ptr<const EventBatch>& batch, std::int64_t revision,
           bool is_other_history = false) {
    const bool full = feeds_.size() >= max_batches_ || bytes_ >= max_bytes_;
    if (full) {
      is_other_history |= std::ranges::any_of(feeds_, &Feed::is_other_history);
      Clear();
    }
    feeds_.push_back({.batch = full ? nullptr : batch,
                      .revision = revision,
                      .is_other_history = is_other_history});
    if (batch != nullptr && !full) bytes_ += batch->held_bytes();
    return !std::exchange(woken_, true);
  }
  std::vector<Feed> Take() {
    woken_ = false;
    bytes_ = 0;
    return std::exchange(feeds_, {});
  }
  std::size_t bytes() const { return bytes_; }
  std::size_t batches() const { return feeds_.size(); }
  void Clear() {
    feeds_.clear();
    bytes_ = 0;
  }

 private:
  const std::size_t max_batches_;
  const std::size_t max_bytes_;
  std::vector<Feed> feeds_;
  std::size_t bytes_ = 0;
  bool woken_ = false;
};

}  // namespace kvorum::watch
