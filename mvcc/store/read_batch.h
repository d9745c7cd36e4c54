// A view that the reads of one thread share, one after the other, as long as they are a batch:
// reads for which any state from the batch's begin on is new enough.
//
// A thread has one view at a time (store_view.h), so Store::Read takes the shared one away, and the
// batch's next read gets a new one. A view is shared by a bounded number of reads, so that it stays
// short-lived.
//
// Threads: a batch belongs to the thread that made it, which has one at a time.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "base/error.h"
#include "mvcc/store/store_view.h"

namespace kvorum::mvcc {

class Store;

class ReadBatch {
 public:
  ReadBatch();
  ~ReadBatch();
  ReadBatch(const ReadBatch&) = delete;
  ReadBatch& operator=(const ReadBatch&) = delete;

  // The calling thread's batch; null if it has none.
  static ReadBatch* Current();
  // The view, valid until EndRead, LetGo or Store::Read on this thread.
  Result<ReadView*> View(Store& store);
  // The keys that the batch's next reads look up, at most kMostAhead. Does nothing without a view.
  void LookAhead(std::span<const std::string_view> keys) {
    if (view_.has_value()) view_->LookAhead(keys);
  }
  // The next read gets a new view.
  void LetGo() { view_.reset(); }
  // To be called behind each piece of work of the batch, whether or not it took the view.
  void EndRead();

 private:
  std::optional<ReadView> view_;
  int reads_ = 0;  // since it was taken
};

}  // namespace kvorum::mvcc
