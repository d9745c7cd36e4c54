#include "mvcc/lmdb/backend_lmdb_defragment.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>

#include "base/background/aside.h"
#include "base/failpoint/failpoint.h"
#include "base/file_system.h"
#include "mvcc/lmdb/backend_lmdb_format.h"
#include "mvcc/lmdb/backend_lmdb_write.h"

namespace kvorum::mvcc {
namespace {

using lmdb_format::TreeKey;

constexpr std::uint64_t kPieceRecords = 10'000;
constexpr std::uint64_t kPieceBytes = std::uint64_t{2} << 20;
// A piece this small is fast enough for the backend executor to finish with.
constexpr std::uint64_t kSmallPieceRecords = 1'000;
// Bounds the copying when a writer is faster than the copy.
constexpr int kMaxCatchUpPieces = 16;

}  // namespace

void ChangeLog::Record(const WriteBatch& batch) {
  std::lock_guard lock(mutex_);
  changes_.deletions.insert(changes_.deletions.end(), batch.deletions.begin(),
                            batch.deletions.end());
  for (const auto& [key, value] : batch.changes.map()) {
    changes_.tree_keys.emplace(TreeKey(key.bucket, key.key).view());
  }
}

ChangeLog::Changes ChangeLog::Take() {
  std::lock_guard lock(mutex_);
  return std::exchange(changes_, {});
}

LmdbDefragmentCopy::~LmdbDefragmentCopy() {
  if (target_ == nullptr) return;
  const std::string path = target_->path();
  target_.reset();
  // A file that cannot be removed now is removed at the next open.
  static_cast<void>(PosixFileSystem().Remove(path));
  static_cast<void>(PosixFileSystem().Remove(path + "-lock"));
}

Error LmdbDefragmentCopy::SourceError(int code) const {
  return LmdbError(code, "defragment: read the source of", target_->path());
}

Error LmdbDefragmentCopy::TargetError(int code) const {
  return LmdbError(code, "defragment: write", target_->path());
}

Result<void> LmdbDefragmentCopy::Copy() {
  KV_FAILPOINT("defragBeforeCopy");
  KV_FAILPOINT_RETURN("defragdbFail", text) { return Fail(Code::kUnknown, text); }
  // Records that are written meanwhile are copied without a pause, so that no writer stays ahead
  // for ever.
  KV_TRY(std::uint64_t paced_records, SourceRecords());
  for (int catch_up = 0; catch_up < kMaxCatchUpPieces;) {
    KV_TRY(const Piece piece, CopyPiece());
    if (paced_records != 0) KV_RETURN_IF_ERROR(WriteBack());
    paced_records -= std::min(paced_records, piece.records);
    if (!piece.at_end) continue;
    if (piece.records <= kSmallPieceRecords) break;
    ++catch_up;
  }
  if (const int code = mdb_env_sync(target_->env(), 1); code != 0) return Fail(TargetError(code));
  return {};
}

Result<void> LmdbDefragmentCopy::CatchUp() {
  while (true) {
    KV_TRY(const Piece piece, CopyPiece());
    if (piece.at_end) break;
  }
  KV_TRY(const std::uint64_t records, SourceRecords());
  KV_TRY(const LmdbEnvironment::Sizes to, target_->ReadSizes());
  if (records != to.entries) {
    return Fail(Code::kDataLoss, "mvcc: defragment: the copy and its source differ in size");
  }
  KV_RETURN_IF_ERROR(target_->SyncEachCommitFromNow());
  // A lost write is reported once to each descriptor. WriteBack may have taken the report to LMDB's
  // for a call that is not supported; the lock's descriptor still has it.
  if (target_->SyncHasFailed()) return Fail(TargetError(EIO));
  return {};
}

Result<std::uint64_t> LmdbDefragmentCopy::SourceRecords() {
  KV_TRY(LmdbSnapshot * source, new_reader_());
  const Reader reader(source);
  MDB_stat tree;
  if (const int code = mdb_stat(source->transaction(), kLmdbTree, &tree); code != 0) {
    return Fail(SourceError(code));
  }
  return tree.ms_entries;
}

Result<LmdbDefragmentCopy::Piece> LmdbDefragmentCopy::CopyPiece() {
  // Changes first, snapshot second: every logged change is in the snapshot. Changes that the
  // snapshot has beyond those come with a later log, and repeating them does no harm.
  const ChangeLog::Changes changes = changes_->Take();
  KV_TRY(LmdbSnapshot * source, new_reader_());
  const Reader reader(source);
  Result<Piece> piece;
  RunAside([&] { piece = WritePiece(changes, *source); });
  return piece;
}

Result<LmdbDefragmentCopy::Piece> LmdbDefragmentCopy::WritePiece(const ChangeLog::Changes& changes,
                                                                 LmdbSnapshot& source) {
  LmdbWrite write;
  if (const int code = write.Begin(*target_); code != 0) return Fail(TargetError(code));
  KV_TRY(const std::uint64_t redone, Redo(changes, write, source));
  KV_TRY(Piece piece, CopyForward(write, source));
  piece.records += redone;
  if (piece.records == 0) return piece;  // an empty commit would only leave free pages behind
  if (const int code = write.Commit(); code != 0) return Fail(TargetError(code));
  return piece;
}

// Otherwise the kernel collects gigabytes, writes them as fast as the disk goes, and a sync of the
// log waits behind them. Any error but a missing call ends the copy: the kernel reports it to a
// descriptor only once, and the sync of the whole would not see it.
Result<void> LmdbDefragmentCopy::WriteBack() {
  KV_FAILPOINT_RETURN("backendWriteBackError", text) { return Fail(Code::kUnknown, text); }
  mdb_filehandle_t file = -1;
  if (const int code = mdb_env_get_fd(target_->env(), &file); code != 0) {
    return Fail(TargetError(code));
  }
  constexpr unsigned kAll =
      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  int error = EINTR;
  while (error == EINTR) error = ::sync_file_range(file, 0, 0, kAll) == 0 ? 0 : errno;
  const bool is_missing = error == ENOSYS || error == EINVAL || error == ESPIPE ||
                          error == EOPNOTSUPP || error == EPERM;
  if (error != 0 && !is_missing) return Fail(TargetError(error));
  return {};
}

Result<std::uint64_t> LmdbDefragmentCopy::Redo(const ChangeLog::Changes& changes, LmdbWrite& write,
                                               LmdbSnapshot& source) {
  for (const Revision revision : changes.deletions) {
    if (const int code = write.RemoveRevision(revision); code != 0) return Fail(TargetError(code));
  }
  std::uint64_t redone = changes.deletions.size();
  for (const std::string& tree_key : changes.tree_keys) {
    if (tree_key > position_) break;  // the walk will get there
    ++redone;
    MDB_val key = ToLmdb(tree_key);
    MDB_val stored;
    const int found = mdb_get(source.transaction(), kLmdbTree, &key, &stored);
    if (found != 0 && found != MDB_NOTFOUND) return Fail(SourceError(found));
    int code = 0;
    if (found == 0) {
      KV_RETURN_IF_ERROR(source.Verify(tree_key, FromLmdb(stored)));
      code = write.PutSealed(tree_key, FromLmdb(stored));
    } else {
      code = write.Remove(tree_key);
    }
    if (code != 0) return Fail(TargetError(code));
  }
  return redone;
}

Result<LmdbDefragmentCopy::Piece> LmdbDefragmentCopy::CopyForward(LmdbWrite& write,
                                                                  LmdbSnapshot& source) {
  KV_TRY(MDB_cursor * cursor, source.ScanCursor());
  Piece piece;
  std::uint64_t bytes = 0;
  MDB_val key = ToLmdb(position_);
  MDB_val stored;
  int code = mdb_cursor_get(cursor, &key, &stored, position_.empty() ? MDB_FIRST : MDB_SET_RANGE);
  if (code == 0 && FromLmdb(key) == position_) {
    code = mdb_cursor_get(cursor, &key, &stored, MDB_NEXT);
  }
  std::string_view last;
  while (code == 0 && piece.records < kPieceRecords && bytes < kPieceBytes) {
    const std::string_view tree_key = FromLmdb(key);
    walk_.Follow(tree_key, FromLmdb(stored));
    KV_RETURN_IF_ERROR(source.Verify(tree_key, FromLmdb(stored)));
    const int written = write.AppendSealed(tree_key, FromLmdb(stored));
    if (written != 0) return Fail(TargetError(written));
    ++piece.records;
    bytes += key.mv_size + stored.mv_size;
    last = tree_key;
    code = mdb_cursor_get(cursor, &key, &stored, MDB_NEXT);
  }
  if (code != 0 && code != MDB_NOTFOUND) return Fail(SourceError(code));
  if (piece.records != 0) position_ = last;
  piece.at_end = code == MDB_NOTFOUND;
  return piece;
}

}  // namespace kvorum::mvcc
