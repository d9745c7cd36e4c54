#include "mvcc/store/history_scan.h"

#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/background/aside.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/records/bucket.h"
#include "mvcc/store/store.h"

namespace kvorum::mvcc {
namespace {

// A step also ends with the record that reaches so many.
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 20;

}  // namespace

HistoryScan::HistoryScan(Store& store) : store_(store) { store.history_sum().BeginPass(); }

Result<HistoryScan::Progress> HistoryScan::Step(std::uint64_t max_records) {
  const auto step = store_.history_sum().BeginStep();
  if (!step.has_value()) return Progress::kMustWait;
  if (!step->unread.empty()) {
    KV_RETURN_IF_ERROR(StepRecords(*step, max_records));
  } else if (next_bucket_ < kBucketNames.size()) {
    KV_RETURN_IF_ERROR(StepBucket(max_records));
  } else {
    return Progress::kDone;
  }
  return Progress::kMore;
}

// Between compactions nothing changes below the pass's revision: records are only appended.
Result<void> HistoryScan::StepRecords(const HistorySum::Step& step, std::uint64_t max_records) {
  return store_.LookAtDurable([&](Snapshot& content) -> Result<void> {
    const Revision end{.main = step.unread.to_revision + 1, .sub = 0};
    Revision next = end;
    std::uint64_t sum = 0;
    std::uint64_t seen = 0;
    std::uint64_t bytes = 0;
    const auto add = [&](const RevisionRecord& record) {
      if (seen == max_records || bytes >= kPieceBytes) {
        next = record.revision;
        return false;
      }
      ++seen;
      bytes += record.value.size();
      sum += RecordHash(record);
      return true;
    };
    Result<void> scanned;
    RunAside([&] { scanned = content.ScanRevisions(step.unread.from, end, add); });
    KV_RETURN_IF_ERROR(scanned);
    if (store_.history_sum().EndStep(step, next, sum)) records_ += seen;
    return {};
  });
}

Result<void> HistoryScan::StepBucket(std::uint64_t max_records) {
  return store_.LookAtDurable([&](Snapshot& content) -> Result<void> {
    std::uint64_t seen = 0;
    std::uint64_t bytes = 0;
    std::optional<std::string> next;
    const auto look = [&](std::string_view key, std::string_view value) {
      if (seen == max_records || bytes >= kPieceBytes) {
        next = key;
        return false;
      }
      ++seen;
      bytes += key.size() + value.size();
      return true;
    };
    Result<void> scanned;
    RunAside(
        [&] { scanned = content.Scan(static_cast<Bucket>(next_bucket_), bucket_from_, {}, look); });
    KV_RETURN_IF_ERROR(scanned);
    if (!next.has_value()) ++next_bucket_;
    bucket_from_ = std::move(next).value_or("");
    return {};
  });
}

}  // namespace kvorum::mvcc
