// A view of the store for one read: that of the thread's batch of reads, or the read's own.
//
// The linearizable reads of one wake-up of an I/O loop are confirmed together and run one after the
// other (RequestBatcher). They share a view, which saves each of them four reference counts and a
// place in the backend.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "base/error.h"
#include "mvcc/store/store.h"

namespace kvorum::server {

// Used by the thread that took it, and before that thread takes another view.
class HeldView {
 public:
  // kFresh: a view that no earlier read had.
  enum class Age : std::uint8_t { kShared, kFresh };
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
