// Reads a backend from its first record to the revision of a pass, in short steps, and adds up the
// hashes of what is there (compactions read their part for it); then it reads the small buckets.
// Each record is checked against its checksum on the way, so that damage is found whether anybody
// asks for the record or not.
//
// Used by one thread, one at a time for a store, which outlives it. Each step has a reader of its
// own, so no page is kept from reuse for longer. Errors: kDataLoss names a damaged record;
// kResourceExhausted and kReaderMustEnd mean that the step may be tried again later.
#pragma once

#include <cstdint>
#include <string>

#include "base/error.h"
#include "mvcc/records/revision.h"
#include "mvcc/store/history_sum.h"

namespace kvorum::mvcc {

class Store;

class HistoryScan {
 public:
  // Begins a pass.
  explicit HistoryScan(Store& store);

  enum class Progress { kMore, kMustWait, kDone };
  // Reads up to max_records more, of a MiB and one record. kMustWait: a compaction deletes.
  Result<Progress> Step(std::uint64_t max_records);

  std::uint64_t records() const { return records_; }

 private:
  Result<void> StepRecords(const HistorySum::Step& step, std::uint64_t max_records);
  Result<void> StepBucket(std::uint64_t max_records);

  Store& store_;
  std::uint64_t next_bucket_ = 1;  // after Bucket::kKey
  std::string bucket_from_;        // the rest of that one
  std::uint64_t records_ = 0;
};

}  // namespace kvorum::mvcc
