#include "mvcc/store/store_view.h"

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <variant>

#include "base/api_errors.h"
#include "base/check.h"
#include "mvcc/records/look_ahead.h"
#include "mvcc/records/validate.h"
#include "mvcc/store/store_counters.h"
#include "mvcc/store/txn_plan.h"

namespace kvorum::mvcc {
namespace {

// A read-only txn over a view.
class ReadOperations final : public TxnOperations {
 public:
  explicit ReadOperations(ReadView& view) : view_(view) {}

  Result<RangeResult> Range(const RangeRequest& request) override { return view_.Range(request); }
  Result<PutResult> Put(const PutRequest&) override { KV_CHECK(false, "a put in a read-only txn"); }
  Result<DeleteRangeResult> DeleteRange(const DeleteRangeRequest&) override {
    KV_CHECK(false, "a delete in a read-only txn");
  }
  std::int64_t revision() const override { return view_.revision(); }

 private:
  ReadView& view_;
};

}  // namespace

RangeScope ReadView::Scope() {
  return {.index = index_.view(),
          .records = this,
          .current_revision = revision(),
          .compact_revision = compact_revision()};
}

Result<std::string_view> ReadView::Find(Revision revision) {
  if (const RevisionRecord* record = buffer_.Find(revision)) return record->value;
  KV_TRY(const std::optional<RevisionRecord> record, reader_->GetRevision(revision));
  if (!record || record->tombstone) return Fail(MissingRecord(revision));
  return record->value;
}

Result<std::size_t> ReadView::FindFirst(std::span<const Revision> revisions,
                                        std::span<std::string_view> found) {
  std::array<Revision, kMostAtOnce> asked;
  std::array<std::size_t, kMostAtOnce> places;
  std::size_t count = 0;
  for (std::size_t i = 0; i < revisions.size(); ++i) {
    if (const RevisionRecord* record = buffer_.Find(revisions[i])) {
      found[i] = record->value;
    } else {
      places[count] = i;
      asked[count++] = revisions[i];
    }
  }
  std::array<std::optional<RevisionRecord>, kMostAtOnce> records;
  KV_TRY(const std::size_t answered, reader_->GetRevisions(std::span(asked).first(count), records));
  for (std::size_t i = 0; i < answered; ++i) {
    if (!records[i] || records[i]->tombstone) return Fail(MissingRecord(asked[i]));
    found[places[i]] = records[i]->value;
  }
  return answered == count ? revisions.size() : places[answered];
}

void ReadView::LookAhead(std::span<const std::string_view> keys) {
  std::array<Revision, kMostAhead> revisions;
  std::size_t count = index_->LookAhead(keys, revisions);
  if (const RevisionRecord* buffered = buffer_.First()) {
    const auto asked = std::span(revisions).first(count);
    const auto is_buffered = [&](Revision revision) { return revision >= buffered->revision; };
    count -= std::ranges::remove_if(asked, is_buffered).size();
  }
  if (count > 0) reader_->LookAhead(std::span(revisions).first(count));
}

Result<RangeSummary> ReadView::Range(const RangeRequest& request, RowSink& sink) {
  counters_->AddRange();
  return RunRange(Scope(), request, sink);
}

Result<RangeResult> ReadView::Range(const RangeRequest& request) {
  RangeResult result;
  KV_TRY(static_cast<RangeSummary&>(result), Range(request, result.rows));
  return result;
}

Result<void> ReadView::Rows(const RangeRequest& request, RowSink& sink) {
  return RunRows(Scope(), request, sink);
}

std::int64_t ReadView::EstimateRows(const RangeRequest& request, std::int64_t enough) {
  return mvcc::EstimateRows(Scope(), request, enough);
}

std::int64_t ReadView::EstimateRows(const TxnRequest& request, std::int64_t enough) {
  std::int64_t rows = 0;
  for (const Compare& compare : request.compare) {
    rows += EstimateRows(RangeRequest{.key = compare.key, .range_end = compare.range_end}, enough);
  }
  for (const auto* branch : {&request.success, &request.failure}) {
    for (const RequestOp& op : *branch) {
      if (rows >= enough) return rows;
      if (const auto* range = std::get_if<RangeRequest>(&op)) rows += EstimateRows(*range, enough);
      if (const auto* nested = std::get_if<std::unique_ptr<TxnRequest>>(&op)) {
        rows += EstimateRows(**nested, enough);
      }
    }
  }
  return rows;
}

Result<TxnResult> ReadView::Txn(const TxnRequest& request) {
  KV_CHECK(IsReadOnly(request), "a view runs read-only txns");
  KV_TRY(const TxnPlan plan, TxnPlan::Make(Scope(), request, nullptr));
  ReadOperations operations(*this);
  return RunTxn(operations, request, plan);
}

Result<bool> ReadView::Succeeds(const TxnRequest& request) {
  KV_TRY(const TxnPlan plan, TxnPlan::Make(Scope(), request, nullptr));
  return plan.succeeded(0);
}

Result<KvHasher> ReadView::BeginHash(std::int64_t revision) const {
  if (revision > 0 && revision < compact_revision()) return kErrCompacted.Fail();
  if (revision > this->revision()) return kErrFutureRev.Fail();
  if (revision == 0) revision = this->revision();
  return KvHasher::ForHistory(compact_revision(), revision, index());
}

Result<KvHash> ReadView::HashKv(std::int64_t revision) {
  KV_TRY(KvHasher hasher, BeginHash(revision));
  Result<void> added;
  std::uint64_t seen = 0;
  const auto add = [&](const RevisionRecord& record) {
    added = hasher.Add(index(), record);
    if (++seen % kRecordsBetweenLooks == 0 && MustEnd()) added = kReaderMustEnd.Fail();
    return added.has_value();
  };
  KV_RETURN_IF_ERROR(ScanRecords(Revision{}, {.main = hasher.revision() + 1, .sub = 0}, add));
  KV_RETURN_IF_ERROR(added);
  return hasher.Finish();
}

Result<std::string_view> ReadView::Get(std::string_view key, std::int64_t revision) {
  if (revision < compact_revision()) return std::string_view();
  const std::optional<IndexItem> item = index_->Get(key, revision);
  if (!item) return std::string_view();
  return Find(item->modified);
}

Result<void> ReadView::ScanRecords(Revision from, const VisitRecord& visit) {
  return ScanRecords(from, {.main = revision() + 1, .sub = 0}, visit);
}

// The buffer is complete from its first record on; the reader may have some of these too.
Result<void> ReadView::ScanRecords(Revision from, Revision end, const VisitRecord& visit) {
  const RevisionRecord* buffered = buffer_.First();
  const Revision reader_end = buffered == nullptr ? end : std::min(end, buffered->revision);
  bool goes_on = true;
  if (from < reader_end) {
    KV_RETURN_IF_ERROR(reader_->ScanRevisions(from, reader_end, [&](const RevisionRecord& record) {
      goes_on = visit(record);
      return goes_on;
    }));
  }
  if (!goes_on) return {};
  buffer_.Scan(
      from, [&](const RevisionRecord& record) { return record.revision < end && visit(record); });
  return {};
}

Result<std::uint32_t> ReadView::HashBackend() { return reader_->Hash(); }

}  // namespace kvorum::mvcc
