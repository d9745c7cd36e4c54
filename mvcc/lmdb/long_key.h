// Keys of the auth buckets that are longer than a backend takes: names of up to 32,768 bytes, as
// etcd's database has them.
//
//   key    up to 493 bytes   as it is
//          longer            510 bytes: its first 478, and its SHA-256
//   value  of a long key     4 bytes (little-endian): the key's size; the key; the value
//
// No key is as long as 510 bytes unless it stands for a longer one. In the order of the backend a
// long key may stand before or behind where it belongs, among keys with the same first 478 bytes
// (KeyGroup).
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/records/bucket.h"

namespace kvorum::mvcc {

// "userRevision:" and the 480 bytes to which names were bound before there were long keys.
inline constexpr std::size_t kMaxPlainKeySizeBytes = 493;
inline constexpr std::size_t kLongKeyPrefixBytes = 478;

// True if the key is kept under another one.
bool IsLongKey(Bucket bucket, std::string_view key);

// A record of a bucket as the backend keeps it; or the other way round.
struct BucketRecord {
  std::string key;
  std::string value;
};
BucketRecord StoredForm(std::string_view long_key, std::string_view value);
// The stored key alone.
std::string StoredKey(std::string_view long_key);

// Views of a stored record's key and value. kDataLoss if a long key's value does not have the form
// above.
struct BucketRecordView {
  std::string_view key;
  std::string_view value;
};
Result<BucketRecordView> ReadStored(Bucket bucket, std::string_view key, std::string_view value);

// Visits the records of a bucket other than that of revisions under their own keys, in the order of
// the stored ones, until an error.
using VisitBucketRecord = std::function<Result<void>(std::string_view key, std::string_view value)>;
Result<void> ScanBucket(Snapshot& content, Bucket bucket, const VisitBucketRecord& visit);

// Records of an auth bucket that begin alike, held back until all of them are there, to be passed
// on in another order. For one thread. Memory: their names, which the auth store holds as well.
class KeyGroup {
 public:
  // True if a record with this key must wait for others.
  static bool Holds(Bucket bucket, std::string_view key);

  bool empty() const { return records_.empty(); }
  // True if the key may belong between those that wait.
  bool IsOf(std::string_view key) const {
    return !empty() && key.substr(0, kLongKeyPrefixBytes) == prefix_;
  }
  void Add(std::string_view key, std::string_view value);
  // Passes them on in the order of their keys, and is empty.
  Result<void> Drain(const VisitBucketRecord& visit);

 private:
  std::string prefix_;
  std::map<std::string, std::string, std::less<>> records_;
};

}  // namespace kvorum::mvcc
