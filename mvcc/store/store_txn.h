// The store's writer side for the length of one log entry: everything in it shares one revision.
//
// Used by the apply executor only, one at a time. Later entries see its changes at once, readers
// from Store::Publish on. Errors are refusals: nothing was written. A request that passed its
// checks cannot fail while it is applied; a record that is damaged on disk stops the process, since
// the other replicas go on without us. Rows for the answer alone (ranges, previous values) are read
// as long as the answer's room is open: past it, and without a waiter, everything is checked,
// written and refused as if they had been read, but rows, counts and previous values are missing.
#pragma once

#include <cstdint>
#include <optional>

#include "base/error.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/lmdb/write_buffer.h"
#include "mvcc/records/requests.h"
#include "mvcc/records/txn.h"
#include "mvcc/store/answer_room.h"
#include "mvcc/store/range_query.h"
#include "mvcc/store/txn_plan.h"

namespace kvorum::mvcc {

class Store;

class WriteTxn final : private RecordSource, private TxnOperations {
 public:
  ~WriteTxn() override { End(); }
  WriteTxn(const WriteTxn&) = delete;
  WriteTxn& operator=(const WriteTxn&) = delete;

  // kErrLeaseNotFound, then kErrKeyNotFound for ignore_value or ignore_lease without the key. About
  // one index change and one copy of the value.
  Result<PutResult> Put(const PutRequest& request) override;
  // Never refused.
  Result<DeleteRangeResult> DeleteRange(const DeleteRangeRequest& request) override;
  // Sees this txn's writes, at the revision that it will have.
  Result<RangeResult> Range(const RangeRequest& request) override;
  // Runs compares, checks of the branch that the compares chose, then its operations; all compares
  // and checks see the state before the txn. The only call on its WriteTxn.
  Result<TxnResult> ExecuteTxn(const TxnRequest& request);

  // The store's revision with this txn: one more than before if it has changed something.
  std::int64_t revision() const override { return begin_revision_ + (changes_ > 0 ? 1 : 0); }
  // Keys put and deleted so far: the next sub-revision.
  std::int64_t changes() const { return changes_; }

  // Makes the txn's revision the store's. Idempotent; the destructor calls it.
  void End();

 private:
  friend class Store;
  WriteTxn(Store& store, AnswerRoom* room);

  // True if something is to be read for the answer.
  bool IsAnswerOpen() { return room_ == nullptr || room_->IsOpen(); }
  // Returns no rows, and no summary, if the room did not hold all.
  Result<RangeSummary> ReadForAnswer(const RangeRequest& request, RowBuffer& rows);

  Result<std::string_view> Find(Revision revision) override;
  RangeScope Scope();
  Revision Next() const { return {.main = begin_revision_ + 1, .sub = changes_}; }
  // Appends the record of Next(), which is already in the index.
  void Append(const KeyValue& kv, bool tombstone);
  void Delete(std::string_view key);

  Store& store_;
  AnswerRoom* const room_;  // null: unlimited
  const std::int64_t begin_revision_;
  std::int64_t changes_ = 0;
  bool ended_ = false;
  // The readers' view of the buffer, kept so that records in it stay in place; then a backend
  // reader. Both are taken when first needed.
  std::optional<WriteBuffer::View> buffer_;
  std::optional<Reader> reader_;
  // For the counters.
  std::uint64_t ranges_ = 0;
  std::uint64_t puts_ = 0;
  std::uint64_t deletes_ = 0;
  std::uint64_t put_bytes_ = 0;
};

}  // namespace kvorum::mvcc
