// Checks the records of a member's database as its start would read them, etcd's or ours: each key
// and value must be the message that its bucket holds. A database that passes here does not make a
// start fail; an error names the bucket, the key and the fault.
//
// Used by one thread at a time. Memory: the users and roles. Errors: kDataLoss.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "auth/auth_record.h"
#include "base/error.h"
#include "mvcc/records/bucket.h"
#include "mvcc/transfer/record_check.h"

namespace kvorum::datadir {

class ContentCheck {
 public:
  // The records that follow are this bucket's. Those of a bucket that is not known are passed over.
  void BeginBucket(std::string_view name);
  Result<void> Add(std::string_view key, std::string_view value);
  // A bucket within the one that was begun.
  Result<void> AddNested(std::string_view key) const;
  // One of a bucket other than `key`, which needs no begin.
  Result<void> AddSmall(mvcc::Bucket bucket, std::string_view key, std::string_view value);

  // Finds users and roles that contradict each other, which shows only in the whole.
  Result<void> CheckWhole() const;
  // A bucket that every member's database has was not begun.
  Result<void> CheckBuckets() const;

  std::uint64_t revisions() const { return revisions_; }  // in the bucket `key`
  std::int64_t newest_revision() const { return newest_revision_; }

 private:
  std::optional<mvcc::Bucket> bucket_;  // nullopt: not known
  std::array<bool, mvcc::kBucketNames.size()> begun_{};
  mvcc::RevisionCheck revision_check_;
  std::uint64_t revisions_ = 0;
  std::int64_t newest_revision_ = 0;
  std::vector<auth::Record> auth_;
};

}  // namespace kvorum::datadir
