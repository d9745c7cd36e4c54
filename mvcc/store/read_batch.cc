#include "mvcc/store/read_batch.h"

#include <utility>

#include "base/check.h"
#include "mvcc/store/store.h"

namespace kvorum::mvcc {
namespace {

constexpr int kReadsOfAView = 64;

constinit thread_local ReadBatch* current_batch = nullptr;

}  // namespace

ReadBatch::ReadBatch() {
  KV_CHECK(current_batch == nullptr, "a batch of reads within another");
  current_batch = this;
}

ReadBatch::~ReadBatch() { current_batch = nullptr; }

ReadBatch* ReadBatch::Current() { return current_batch; }

Result<ReadView*> ReadBatch::View(Store& store) {
  if (!view_.has_value()) {
    KV_TRY(ReadView view, store.Read());
    view_.emplace(std::move(view));
    reads_ = 0;
  }
  return &*view_;
}

void ReadBatch::EndRead() {
  if (++reads_ == kReadsOfAView) LetGo();
}

}  // namespace kvorum::mvcc
