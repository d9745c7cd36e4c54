// A view of the store for one read: the thread's, if it runs a batch of reads, or the read's own.
//
// The linearizable reads of one wake-up of an I/O loop are confirmed together and run one after the
// other (RequestBatcher). They share a view, which saves each of them four reference counts and a
// place in the backend. A view is shared only by reads that were confirmed before it was taken, and
// by a bounded number, so that it stays short-lived.
//
// Threads: a batch and its views belong to the thread that made them.
#pragma once

#include <optional>

#include "base/error.h"
#include "mvcc/store.h"

namespace kvorum::server {

// While it lives, the reads of this thread share their view. One per thread at a time.
class ReadBatch {
 public:
  ReadBatch();
  ~ReadBatch();
  ReadBatch(const ReadBatch&) = delete;
  ReadBatch& operator=(const ReadBatch&) = delete;

 private:
  friend class HeldView;
  Result<mvcc::ReadView*> Take(mvcc::Store& store);

  std::optional<mvcc::ReadView> view_;
  int uses_left_ = 0;
};

class HeldView {
 public:
  // kFresh: a view that no earlier read had.
  enum class Age { kShared, kFresh };
  static Result<HeldView> Take(mvcc::Store& store, Age age = Age::kShared);

  mvcc::ReadView& operator*() { return own_.has_value() ? *own_ : *shared_; }
  mvcc::ReadView* operator->() { return &**this; }

 private:
  explicit HeldView(mvcc::ReadView* shared) : shared_(shared) {}
  explicit HeldView(mvcc::ReadView own) : own_(std::move(own)) {}

  mvcc::ReadView* shared_ = nullptr;
  std::optional<mvcc::ReadView> own_;
};

}  // namespace kvorum::server
