#include "mvcc/transfer/unfinished_backend.h"

#include "base/check.h"
#include "base/failpoint/failpoint.h"

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
  read_back_.reset();
  reader_.reset();
  backend_.reset();
  static_cast<void>(Remove());  // leftovers are removed at the next start
}

Result<void> UnfinishedBackend::Open() {
  KV_RETURN_IF_ERROR(Remove());
  KV_TRY(backend_, options_.open(path_));
  return {};
}

Result<bool> UnfinishedBackend::FinishPart(const snapshot_format::Totals& told) {
  KV_CHECK(!finished_, "a snapshot is finished once");
  if (!read_back_.has_value()) {
    KV_TRY(reader_, backend_->NewReader());
    read_back_.emplace(**reader_);
  }
  KV_TRY(const std::string body, read_back_->NextBody());
  if (!body.empty()) return false;
  KV_RETURN_IF_ERROR(Check(told));
  read_back_.reset();
  reader_.reset();
  backend_.reset();
  KV_RETURN_IF_ERROR(RemoveIfThere(files_, LockPath()));
  KV_RETURN_IF_ERROR(files_.Rename(path_, options_.path));
  finished_ = true;
  KV_FAILPOINT("snapDBRenameBeforeDirSync");
  // The log notes the snapshot once this returns: its name must be durable before that.
  KV_FAILPOINT_RETURN("snapDBDirSyncError", text) { return Fail(Code::kUnknown, text); }
  KV_RETURN_IF_ERROR(files_.SyncDirectory(ParentDirectory(options_.path)));
  return true;
}

Result<void> UnfinishedBackend::Check(const snapshot_format::Totals& told) {
  if (read_back_->totals() != told)
    return Fail(Code::kDataLoss, "mvcc: " + path_ + " differs from the snapshot it was made of");
  return options_.check ? options_.check(**reader_) : Result<void>();
}

Result<void> UnfinishedBackend::Remove() {
  KV_RETURN_IF_ERROR(RemoveIfThere(files_, LockPath()));
  return RemoveIfThere(files_, path_);
}

}  // namespace kvorum::mvcc
