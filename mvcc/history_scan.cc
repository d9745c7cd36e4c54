#include "mvcc/history_scan.h"

#include <string_view>

#include "mvcc/backend.h"
#include "mvcc/bucket.h"
#include "mvcc/store.h"

namespace kvorum::mvcc {

Result<bool> HistoryScan::Step(std::uint64_t max_records) {
  if (!has_all_records_) {
    KV_RETURN_IF_ERROR(StepRecords(max_records));
    return false;
  }
  KV_RETURN_IF_ERROR(StepBucket());
  return ++next_bucket_ == kBucketNames.size();
}

// Nothing changes below the pass's revision as long as the pass is current: records are only
// appended.
Result<void> HistoryScan::StepRecords(std::uint64_t max_records) {
  return store_.LookAtDurable([&](Snapshot& content) -> Result<void> {
    std::uint64_t sum = 0;
    std::uint64_t seen = 0;
    Revision next = next_;
    bool has_more = false;
    KV_RETURN_IF_ERROR(content.ScanRevisions(next_, {.main = pass_.revision + 1, .sub = 0},
                                             [&](const RevisionRecord& record) {
                                               if (seen == max_records) {
                                                 next = record.revision;
                                                 has_more = true;
                                                 return false;
                                               }
                                               ++seen;
                                               sum += RecordHash(record);
                                               return true;
                                             }));
    sum_ += sum;
    records_ += seen;
    next_ = next;
    has_all_records_ = !has_more;
    return {};
  });
}

Result<void> HistoryScan::StepBucket() {
  return store_.LookAtDurable([&](Snapshot& content) -> Result<void> {
    std::uint64_t seen = 0;
    bool must_end = false;
    KV_RETURN_IF_ERROR(content.Scan(
        static_cast<Bucket>(next_bucket_), {}, {}, [&](std::string_view, std::string_view) {
          must_end = ++seen % kRecordsBetweenLooks == 0 && content.MustEnd();
          return !must_end;
        }));
    if (must_end) return kReaderMustEnd.Fail();
    return {};
  });
}

}  // namespace kvorum::mvcc
