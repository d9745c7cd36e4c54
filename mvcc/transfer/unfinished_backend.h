// A backend that is being filled under a temporary name, until its content is known to be right:
// then its file is closed, renamed and durable. Dropped before that, it leaves nothing behind.
//
// Used by one thread at a time; waits for the disk.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/records/snapshot_format.h"
#include "mvcc/transfer/snapshot_content.h"
#include "mvcc/transfer/snapshot_stream.h"

namespace kvorum::mvcc {

// Not an error if it is not there.
Result<void> RemoveIfThere(FileSystem& files, const std::string& path);

class UnfinishedBackend {
 public:
  UnfinishedBackend(FileSystem& files, const SnapshotSinkOptions& options);
  ~UnfinishedBackend();
  UnfinishedBackend(const UnfinishedBackend&) = delete;
  UnfinishedBackend& operator=(const UnfinishedBackend&) = delete;

  // Creates it empty.
  Result<void> Open();
  // Between Open and Finish.
  Backend& backend() { return *backend_; }
  // Reads everything back, some MiB at a time: kDataLoss unless it has these totals; then the
  // caller's check. True when it has its name.
  Result<bool> FinishPart(const snapshot_format::Totals& told);

 private:
  // LMDB's, which holds nothing once the file is closed.
  std::string LockPath() const { return path_ + "-lock"; }
  Result<void> Check(const snapshot_format::Totals& told);
  Result<void> Remove();

  FileSystem& files_;
  const SnapshotSinkOptions& options_;
  const std::string path_;
  std::unique_ptr<Backend> backend_;
  std::optional<Reader> reader_;  // once it is being read back
  std::optional<ContentWalk> read_back_;
  bool finished_ = false;
};

}  // namespace kvorum::mvcc
