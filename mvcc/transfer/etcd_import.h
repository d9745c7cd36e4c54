// The content of etcd's file (bbolt), put into a backend: the way back of etcd_image.h. All ten
// buckets come over as they are, but for what tells of the place in the log and of the storage
// version, which the caller may know better than the file.
//
// The file is believed in nothing: besides what bbolt's reader checks, each record must be one from
// which a store can start, so that an accepted file cannot end the process later.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/records/bucket.h"
#include "mvcc/records/snapshot_format.h"

namespace kvorum::bbolt {
class Reader;
}  // namespace kvorum::bbolt

namespace kvorum::mvcc {

// The file's meta bucket; zero or empty where it lacks something. Versions before 3.5 know neither
// term nor conf_state, those before 3.6 no storage_version.
struct EtcdMeta {
  std::uint64_t consistent_index = 0;
  std::uint64_t term = 0;
  std::string conf_state;  // JSON
  std::string storage_version;
};
// A number as the meta bucket has it: 8 bytes, big-endian.
std::string MetaNumber(std::uint64_t value);
// kDataLoss if it is not an etcd file: it lacks the bucket, or has values that cannot be.
Result<EtcdMeta> ReadEtcdMeta(bbolt::Reader& file);

struct EtcdImport {
  // Takes the place of the file's own; an empty text is left out.
  EtcdMeta meta;
  // Called after each commit of some MiB with what has been read so far; an error ends the import.
  // May be empty.
  std::function<Result<void>(std::uint64_t records, std::uint64_t bytes)> on_progress;
  // Called for each record of the file but those of the bucket `key`, which are checked in any
  // case: the messages of the other buckets are not known here. An error ends the import. May be
  // empty.
  std::function<Result<void>(Bucket bucket, std::string_view key, std::string_view value)> check =
      {};
};

// Puts everything into an empty backend, a commit at a time, each durable; the backend is of no use
// after an error. Memory: a commit of some MiB, or a record that is larger.
//
// Used by one thread at a time; file and backend outlive it.
class EtcdImporter {
 public:
  EtcdImporter(bbolt::Reader& file, EtcdImport import, Backend& into);
  ~EtcdImporter();
  EtcdImporter(const EtcdImporter&) = delete;
  EtcdImporter& operator=(const EtcdImporter&) = delete;

  // Goes on to the next commit; true when all is in. kDataLoss for a damaged file;
  // kFailedPrecondition for a bucket that is not known here and not empty; kInvalidArgument for a
  // key longer than a backend can keep, unless it is a name (long_key.h); else the backend's
  // errors.
  Result<bool> Step();
  // Counts what was put. ComputeSnapshotTotals (snapshot_content.h) of the backend must equal it at
  // the end.
  const snapshot_format::Totals& totals() const;

 private:
  class Walk;
  std::unique_ptr<Walk> walk_;
};

// All steps. Returns the totals.
Result<snapshot_format::Totals> ImportEtcdContent(bbolt::Reader& file, const EtcdImport& import,
                                                  Backend& into);

}  // namespace kvorum::mvcc
