#include "server/call/held_view.h"

#include "mvcc/store/read_batch.h"

namespace kvorum::server {

Result<HeldView> HeldView::Take(mvcc::Store& store, Age age) {
  if (mvcc::ReadBatch* const batch = mvcc::ReadBatch::Current(); batch != nullptr) {
    if (age == Age::kFresh) batch->LetGo();
    KV_TRY(mvcc::ReadView* const view, batch->View(store));
    return HeldView(view);
  }
  KV_TRY(mvcc::ReadView view, store.Read());
  return HeldView(std::move(view));
}

}  // namespace kvorum::server
