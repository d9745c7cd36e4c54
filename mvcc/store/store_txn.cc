#include "mvcc/store/store_txn.h"

#include <array>
#include <string>
#include <utility>

#include "base/api_errors.h"
#include "base/check.h"
#include "base/key_range.h"
#include "mvcc/records/key_value.h"
#include "mvcc/store/store.h"

namespace kvorum::mvcc {
namespace {

// The number of keys deleted between two look-ups of the next key.
constexpr std::size_t kDeleteStep = 1024;

// For entries that the other replicas apply and we cannot: going on would make a different state.
template <class T>
T MustHave(Result<T> result) {
  KV_CHECK(result.has_value(), result.error().message);
  return *std::move(result);
}

}  // namespace

WriteTxn::WriteTxn(Store& store, AnswerRoom* room)
    : store_(store), room_(room), begin_revision_(store.revisions_.working()) {
  KV_CHECK(!store.txn_open_, "one write txn at a time");
  store.txn_open_ = true;
}

void WriteTxn::End() {
  if (std::exchange(ended_, true)) return;
  store_.revisions_.Advance(revision());
  store_.txn_open_ = false;
  store_.counters_.AddTxn(ranges_, puts_, deletes_, put_bytes_);
  buffer_.reset();
  reader_.reset();
}

RangeScope WriteTxn::Scope() {
  return {.index = store_.state_->index->working(),
          .records = this,
          .current_revision = revision(),
          .compact_revision = store_.revisions_.compacted()};
}

Result<std::string_view> WriteTxn::Find(Revision revision) {
  // The buffer comes first: a record that leaves it later is seen by a reader opened afterwards.
  if (!buffer_) buffer_ = store_.state_->buffer.CurrentView();
  if (const RevisionRecord* record = buffer_->Find(revision)) return record->value;
  if (const RevisionRecord* record = store_.state_->buffer.FindStaged(revision))
    return record->value;
  if (!reader_) reader_ = MustHave(store_.state_->backend->OpenReader(ReaderPlace::kReserved));
  const std::optional<RevisionRecord> record = MustHave((*reader_)->GetRevision(revision));
  KV_CHECK(record && !record->tombstone, MissingRecord(revision).message);
  return record->value;
}

void WriteTxn::Append(const KeyValue& kv, bool tombstone) {
  EncodeTo(kv, store_.state_->buffer.Append(Next(), tombstone, EncodedSize(kv)));
  if (store_.options_.attachments != nullptr) store_.options_.attachments->Attach(kv.key, kv.lease);
  ++changes_;
  store_.dirty_ = true;
  store_.revisions_.Hide();
}

Result<PutResult> WriteTxn::Put(const PutRequest& request) {
  const LeaseChecker* leases = store_.options_.leases;
  if (request.lease != 0 && (leases == nullptr || !leases->LeaseExists(request.lease))) {
    return kErrLeaseNotFound.Fail();
  }
  KeyValue kv{.key = request.key, .value = request.value, .lease = request.lease};
  if (request.ignore_value || request.ignore_lease) {
    const std::optional<IndexItem> item =
        store_.state_->index->working().Get(request.key, revision());
    if (!item) return kErrKeyNotFound.Fail();
    const KeyValue old = MustHave(DecodeKeyValue(MustHave(Find(item->modified))));
    if (request.ignore_value) kv.value = old.value;
    if (request.ignore_lease) kv.lease = old.lease;
  }

  const KeyIndex::PutResult put = store_.state_->index->Put(request.key, Next());
  kv.create_revision = put.created;
  kv.mod_revision = Next().main;
  kv.version = put.version;
  Append(kv, /*tombstone=*/false);
  ++puts_;
  put_bytes_ += kv.key.size() + kv.value.size();

  PutResult result{.revision = revision(), .prev_kv = {}};
  if (request.prev_kv && put.previous && IsAnswerOpen()) {
    const std::string_view previous = MustHave(Find(*put.previous));
    if (room_ == nullptr || room_->Take(previous.size()))
      result.prev_kv = SharedBytes::Copy(previous);
  }
  return result;
}

// Deletes one live key.
void WriteTxn::Delete(std::string_view key) {
  KV_CHECK(store_.state_->index->Tombstone(key, Next()), "a delete found the key and then did not");
  KeyValue kv;
  kv.key = key;
  Append(kv, /*tombstone=*/true);
}

Result<DeleteRangeResult> WriteTxn::DeleteRange(const DeleteRangeRequest& request) {
  ++deletes_;
  DeleteRangeResult result;
  if (request.prev_kv) {
    const RangeRequest all{.key = request.key, .range_end = request.range_end};
    if (IsAnswerOpen()) MustHave(ReadForAnswer(all, result.prev_kvs));
  }
  // In steps: the index cannot be walked while it is changed.
  std::string next(request.key);
  std::vector<std::string> keys;
  do {
    keys.clear();
    store_.state_->index->working().Visit(KeyRange(next, request.range_end), revision(),
                                          [&](const IndexItem& item) {
                                            keys.emplace_back(item.key);
                                            return keys.size() < kDeleteStep;
                                          });
    for (const std::string& key : keys) Delete(key);
    result.deleted += static_cast<std::int64_t>(keys.size());
    if (!keys.empty()) next = keys.back() + '\0';
  } while (keys.size() == kDeleteStep);
  result.revision = revision();
  return result;
}

Result<RangeResult> WriteTxn::Range(const RangeRequest& request) {
  RangeResult result;
  result.revision = revision();
  if (!IsAnswerOpen()) return result;
  ++ranges_;
  KV_TRY(static_cast<RangeSummary&>(result), ReadForAnswer(request, result.rows));
  return result;
}

Result<RangeSummary> WriteTxn::ReadForAnswer(const RangeRequest& request, RowBuffer& rows) {
  if (room_ == nullptr) return RunRange(Scope(), request, rows);
  RoomyRows sink(*room_, rows);
  Result<RangeSummary> read = RunRange(Scope(), request, sink);
  if (!room_->is_exceeded()) return read;
  rows = {};
  return RangeSummary{.count = 0, .more = false, .revision = revision()};
}

Result<TxnResult> WriteTxn::ExecuteTxn(const TxnRequest& request) {
  KV_CHECK(changes_ == 0, "a whole txn within an open one");
  KV_TRY(const TxnPlan plan, TxnPlan::Make(Scope(), request, store_.options_.leases));
  return MustHave(RunTxn(*this, request, plan));
}

}  // namespace kvorum::mvcc
