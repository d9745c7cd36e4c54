#include "mvcc/unfinished_backend.h"

#include "base/check.h"
#include "mvcc/snapshot_content.h"

namespace kvorum::mvcc {

Result<void> RemoveIfThere(FileSystem& files, const std::string& path) {
  KV_TRY(const bool there, files.Exists(path));
  if (!there) return {};
  return files.Remove(path);
}

UnfinishedBackend::UnfinishedBackend(FileSystem& files, const SnapshotSinkOptions& options)
    : files_(files), options_(options), path_(options.path + ".part") {}

UnfinishedBackend::~UnfinishedBackend() {
  if (finished_) return;
  backend_.reset();
  static_cast<void>(Remove());  // leftovers are removed at the next start
}

Result<void> UnfinishedBackend::Open() {
  KV_RETURN_IF_ERROR(Remove());
  KV_TRY(backend_, options_.open(path_));
  return {};
}

Result<void> UnfinishedBackend::Finish(const snapshot_format::Totals& told) {
  KV_CHECK(!finished_, "a snapshot is finished once");
  {
    KV_TRY(const Reader reader, backend_->NewReader());
    KV_TRY(const snapshot_format::Totals built, ComputeSnapshotTotals(*reader));
    if (built != told)
      return Fail(Code::kDataLoss, "mvcc: " + path_ + " differs from the snapshot it was made of");
    if (options_.check) KV_RETURN_IF_ERROR(options_.check(*reader));
  }
  backend_.reset();
  KV_RETURN_IF_ERROR(RemoveIfThere(files_, LockPath()));
  KV_RETURN_IF_ERROR(files_.Rename(path_, options_.path));
  finished_ = true;
  return files_.SyncDirectory(ParentDirectory(options_.path));
}

Result<void> UnfinishedBackend::Remove() {
  KV_RETURN_IF_ERROR(RemoveIfThere(files_, LockPath()));
  return RemoveIfThere(files_, path_);
}

}  // namespace kvorum::mvcc
