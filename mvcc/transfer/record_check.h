// The rules that the records of the buckets `key` and `meta` follow in every database from which a
// store can start, etcd's or ours, and the words for a record that breaks one. Tools check with
// them what a start would stumble over.
#pragma once

#include <string_view>

#include "base/error.h"
#include "mvcc/records/bucket.h"
#include "mvcc/records/revision.h"

namespace kvorum::mvcc {

// kDataLoss, with the bucket, the key and what is wrong.
std::unexpected<Error> BadRecord(std::string_view bucket, std::string_view key,
                                 std::string_view why);
// A bucket within one that holds records only.
std::unexpected<Error> NestedBucket(std::string_view bucket, std::string_view key);
// A file that lacks a bucket which every member's has.
std::unexpected<Error> NoDatabase();

// Checks the bucket `key`, record after record. Used by one thread at a time.
class RevisionCheck {
 public:
  // In the order of the file. kDataLoss for a key that is not a revision, or one above
  // kLargestRevision, one that does not ascend, or a value that is not the key-value pair of its
  // revision.
  Result<RevisionKey::Decoded> Next(std::string_view key, std::string_view value);

 private:
  Revision last_{.main = 0, .sub = -1};
};

// Numbers and compaction marks; what else stands there is checked by those who know its messages.
Result<void> CheckMetaRecord(std::string_view key, std::string_view value);

}  // namespace kvorum::mvcc
