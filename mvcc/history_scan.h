// Reads a backend from its first record to the revision of a pass, in short steps, and adds up the
// hashes of what is there; then it reads the small buckets. Each record is checked against its
// checksum on the way, so that damage is found whether anybody asks for the record or not.
//
// Used by one thread. The store outlives it. Each step has a reader of its own, so no page is kept
// from reuse for longer. Errors: kDataLoss names a damaged record; kResourceExhausted and
// kReaderMustEnd mean that the step may be tried again later.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "mvcc/history_sum.h"
#include "mvcc/revision.h"

namespace kvorum::mvcc {

class Store;

class HistoryScan {
 public:
  HistoryScan(const Store& store, HistorySum::Pass pass) : store_(store), pass_(pass) {}

  // Reads up to max_records more, or one small bucket; returns whether that was the last step.
  Result<bool> Step(std::uint64_t max_records);

  const HistorySum::Pass& pass() const { return pass_; }
  std::uint64_t sum() const { return sum_; }
  std::uint64_t records() const { return records_; }

 private:
  Result<void> StepRecords(std::uint64_t max_records);
  Result<void> StepBucket();

  const Store& store_;
  const HistorySum::Pass pass_;
  Revision next_;
  bool has_all_records_ = false;
  std::uint64_t next_bucket_ = 1;  // after Bucket::kKey
  std::uint64_t sum_ = 0;
  std::uint64_t records_ = 0;
};

}  // namespace kvorum::mvcc
