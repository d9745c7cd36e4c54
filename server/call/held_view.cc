#include "server/call/held_view.h"

#include <utility>

#include "base/check.h"

namespace kvorum::server {
namespace {

constexpr int kReadsOfAView = 64;

thread_local ReadBatch* current_batch = nullptr;

}  // namespace

ReadBatch::ReadBatch() {
  KV_CHECK(current_batch == nullptr, "a batch of reads within another");
  current_batch = this;
}

ReadBatch::~ReadBatch() { current_batch = nullptr; }

Result<mvcc::ReadView*> ReadBatch::Take(mvcc::Store& store) {
  if (uses_left_ == 0) {
    view_.reset();  // first: a thread has one view at a time
    KV_TRY(mvcc::ReadView view, store.Read());
    view_.emplace(std::move(view));
    uses_left_ = kReadsOfAView;
  }
  --uses_left_;
  return &*view_;
}

Result<HeldView> HeldView::Take(mvcc::Store& store, Age age) {
  if (ReadBatch* const batch = current_batch; batch != nullptr) {
    if (age == Age::kFresh) batch->uses_left_ = 0;
    KV_TRY(mvcc::ReadView* const view, batch->Take(store));
    return HeldView(view);
  }
  KV_TRY(mvcc::ReadView view, store.Read());
  return HeldView(std::move(view));
}

}  // namespace kvorum::server
