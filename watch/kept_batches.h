// The newest batches that a shard has handled, up to a bound in bytes: a watcher whose catch-up
// ends within them gets the rest from here.
//
// They are copies: a published batch keeps the segments of the write buffer that its records lie
// in, and all of one of the smallest batch.
//
// Used by the shard's executor.
// Invariants: the batches follow each other without a gap up to the shard's revision.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "base/check.h"
#include "watch/event_batch.h"

namespace kvorum::watch {

class KeptBatches {
 public:
  explicit KeptBatches(std::size_t max_bytes) : max_bytes_(max_bytes) {}

  // Forgets the oldest past the bound, which may be this one.
  void Add(const std::shared_ptr<const EventBatch>& batch) {
    bytes_ += batch->held_bytes();
    while (!batches_.empty() && bytes_ > max_bytes_) {
      bytes_ -= batches_.front()->held_bytes();
      batches_.pop_front();
    }
    if (bytes_ <= max_bytes_) {
      batches_.push_back(EventBatch::Copy(*batch));
    } else {
      bytes_ = 0;
    }
  }
  // Forgets what was made of them for watchers that want previous values.
  void DropPrevious() {
    for (const auto& batch : batches_) batch->DropPrevious();
  }
  void Clear() {
    batches_.clear();
    bytes_ = 0;
  }

  bool ReachBackTo(std::int64_t revision) const {
    return !batches_.empty() && batches_.front()->first_revision() <= revision;
  }
  auto begin() const { return batches_.begin(); }
  auto end() const { return batches_.end(); }

  void CheckInvariants(std::int64_t revision) const {
    for (std::size_t i = 1; i < batches_.size(); ++i) {
      KV_CHECK(batches_[i]->first_revision() == batches_[i - 1]->last_revision() + 1,
               "the kept batches have a gap");
    }
    KV_CHECK(batches_.empty() || batches_.back()->last_revision() == revision,
             "the kept batches end before the newest revision");
  }

 private:
  const std::size_t max_bytes_;
  std::deque<std::shared_ptr<const EventBatch>> batches_;
  std::size_t bytes_ = 0;
};

}  // namespace kvorum::watch
