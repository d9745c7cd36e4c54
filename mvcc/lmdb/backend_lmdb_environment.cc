#include "mvcc/lmdb/backend_lmdb_environment.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>

#include "base/check.h"
#include "mvcc/lmdb/backend_lmdb_format.h"
#include "mvcc/lmdb/backend_lmdb_look_ahead.h"
#include "mvcc/lmdb/backend_lmdb_write.h"
#include "mvcc/records/look_ahead.h"

namespace kvorum::mvcc {
namespace {

using lmdb_format::TreeKey;

constexpr MDB_dbi kFreeListTree = 0;
// The number of places for ReaderPlace::kReserved: apply, compaction, the sizes after a commit, a
// start's threads.
constexpr unsigned kReservedReaders = 16;
// A smaller map is useless; a machine that cannot spare the address space is refused.
constexpr std::uint64_t kSmallestMapBytes = std::uint64_t{64} << 20;

bool DiskIsFull(const std::string& path) {
  struct statvfs status;
  const std::string folder = path.substr(0, path.find_last_of('/') + 1);
  if (::statvfs(folder.empty() ? "." : folder.c_str(), &status) != 0) return false;
  return std::uint64_t{status.f_bavail} * status.f_frsize < (std::uint64_t{1} << 20);
}

// LMDB maps its lock file as a hole and writes through the map, which raises SIGBUS on a full disk.
// So its blocks are reserved before LMDB opens it (never after: closing a descriptor of it then
// would drop LMDB's locks). Returns an errno value.
int ReserveLockFile(const std::string& path, unsigned max_readers) {
  constexpr std::size_t kReaderBytes =
      64;  // LMDB's table: one cache line each, and a head of three
  const int fd = ::open((path + "-lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return errno;
  const int code = ::posix_fallocate(fd, 0, static_cast<off_t>((max_readers + 3) * kReaderBytes));
  ::close(fd);
  return code;
}

std::string Hex(std::string_view bytes) {
  std::string text;
  for (const char c : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return text;
}

bool IsSameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool IsNameOf(const std::string& path, const struct stat& file) {
  struct stat named;
  return ::stat(path.c_str(), &named) == 0 && IsSameFile(named, file);
}

bool HasOpened(MDB_env* env, const struct stat& file) {
  struct stat opened;
  int fd = -1;
  return mdb_env_get_fd(env, &fd) == 0 && ::fstat(fd, &opened) == 0 && IsSameFile(opened, file);
}

std::unexpected<Error> WasReplaced(const std::string& path) {
  return Fail(Code::kFailedPrecondition,
              fmt::format("mvcc: the database {} was moved or replaced while it was opened", path));
}

void AssertFailed(MDB_env*, const char* message) { CheckFailed("lmdb", 0, message, "LMDB"); }

}  // namespace

Error LmdbError(int code, std::string_view what, const std::string& path) {
  // LMDB reports a write that the disk had no room for as EIO when a part of it went through.
  if (code == ENOSPC || code == EDQUOT || (code == EIO && DiskIsFull(path))) {
    return {Code::kResourceExhausted,
            fmt::format("mvcc: {} {}: {}", what, path, ErrnoText(ENOSPC))};
  }
  Code meaning = Code::kUnknown;
  if (code == EIO || code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND || code == MDB_INVALID) {
    meaning = Code::kDataLoss;
  } else if (code == MDB_MAP_FULL || code == MDB_READERS_FULL) {
    meaning = Code::kResourceExhausted;
  } else if (code == EACCES || code == EPERM || code == EROFS) {
    meaning = Code::kPermissionDenied;
  }
  return {meaning, fmt::format("mvcc: {} {}: {}", what, path, mdb_strerror(code))};
}

// ---- LmdbFileLock ----

Result<LmdbFileLock> LmdbFileLock::OpenWith(const std::string& path, int flags, int lock_kind) {
  const int fd = ::open(path.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) {
    const int code = errno;
    Error error = LmdbError(code, "open", path);
    if (code == ENOENT) error.code = Code::kNotFound;
    return Fail(std::move(error));
  }
  LmdbFileLock lock(fd);
  if (::flock(fd, lock_kind | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return Fail(LmdbError(errno, "lock", path));
    return Fail(Code::kFailedPrecondition,
                fmt::format("mvcc: the database {} is in use by another process", path));
  }
  return lock;
}

Result<LmdbFileLock> LmdbFileLock::Open(const std::string& path) {
  return OpenWith(path, O_RDONLY, LOCK_EX);
}

Result<LmdbFileLock> LmdbFileLock::OpenShared(const std::string& path) {
  return OpenWith(path, O_RDONLY, LOCK_SH);
}

Result<LmdbFileLock> LmdbFileLock::Create(const std::string& path) {
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) {
    return Fail(LmdbError(errno, "remove", path));
  }
  return OpenWith(path, O_RDWR | O_CREAT | O_EXCL, LOCK_EX);
}

// ---- LmdbSnapshot ----

LmdbSnapshot::~LmdbSnapshot() {
  if (lookup_.cursor != nullptr) mdb_cursor_close(lookup_.cursor);
  if (scan_.cursor != nullptr) mdb_cursor_close(scan_.cursor);
  if (transaction_ != nullptr) mdb_txn_abort(transaction_);
}

int LmdbSnapshot::Begin() {
  lookup_.renewed = false;
  scan_.renewed = false;
  lookups_ = {};
  scans_ = {};
  tree_.reset();
  if (transaction_ != nullptr) return mdb_txn_renew(transaction_);
  return mdb_txn_begin(environment_.env(), nullptr, MDB_RDONLY, &transaction_);
}

void LmdbSnapshot::Release() { environment_.GiveBack(this); }

bool LmdbSnapshot::MustEnd() const { return environment_.IsToldToEnd(*this); }

void LmdbSnapshot::OutlivesTask() {
  const std::lock_guard lock(environment_.readers_mutex_);
  holder_ = {};
}

Error LmdbSnapshot::ErrorOf(int code, std::string_view what) const {
  return LmdbError(code, what, environment_.path());
}

Result<MDB_cursor*> LmdbSnapshot::Use(Cursor& cursor) {
  if (cursor.renewed) return cursor.cursor;
  const int code = cursor.cursor == nullptr
                       ? mdb_cursor_open(transaction_, kLmdbTree, &cursor.cursor)
                       : mdb_cursor_renew(transaction_, cursor.cursor);
  if (code != 0) return Fail(ErrorOf(code, "cursor"));
  cursor.renewed = true;
  return cursor.cursor;
}

Result<std::string_view> LmdbSnapshot::Verify(std::string_view tree_key,
                                              std::string_view stored) const {
  if (const auto value = lmdb_format::Unseal(tree_key, stored)) [[likely]] {
    return *value;
  }
  const auto tag = tree_key.empty() ? lmdb_format::kTags.end()
                                    : std::ranges::find(lmdb_format::kTags, tree_key[0]);
  const std::string_view bucket =
      tag == lmdb_format::kTags.end()
          ? "(unknown)"
          : kBucketNames[static_cast<std::size_t>(tag - lmdb_format::kTags.begin())];
  return Fail(
      Code::kDataLoss,
      fmt::format("mvcc: {}: checksum mismatch in bucket {} at key {} (hex)", environment_.path(),
                  bucket, Hex(tree_key.substr(tree_key.empty() ? 0 : 1))));
}

Result<std::optional<std::string_view>> LmdbSnapshot::Get(Bucket bucket, std::string_view key) {
  if (key.size() > kMaxBucketKeySizeBytes) return std::nullopt;
  const TreeKey tree_key(bucket, key);
  MDB_val lmdb_key = ToLmdb(tree_key.view());
  MDB_val stored;
  const int code = mdb_get(transaction_, kLmdbTree, &lmdb_key, &stored);
  if (code == MDB_NOTFOUND) return std::nullopt;
  if (code != 0) return Fail(ErrorOf(code, "read"));
  KV_TRY(const std::string_view value, Verify(tree_key.view(), FromLmdb(stored)));
  return value;
}

Result<std::optional<RevisionRecord>> LmdbSnapshot::GetRevision(Revision revision) {
  KV_TRY(const Stored stored, Seek(revision));
  return Verified(revision, stored);
}

std::size_t LmdbSnapshot::LookAhead(std::span<const Revision> revisions) {
  KV_CHECK(revisions.size() <= kMostAhead, "more revisions than are looked up together");
  if (!tree_.has_value()) tree_ = LmdbMappedTree::Find(map_, CommitNumber());
  if (!tree_.has_value()) return 0;
  std::array<std::array<char, 1 + RevisionKey::kSizeBytes>, kMostAhead> bytes;
  std::array<std::string_view, kMostAhead> keys;
  for (std::size_t i = 0; i < revisions.size(); ++i) {
    bytes[i][0] = lmdb_format::kRevisionTag;
    RevisionKey(revisions[i]).view().copy(bytes[i].data() + 1, RevisionKey::kSizeBytes);
    keys[i] = {bytes[i].data(), bytes[i].size()};
  }
  return tree_->LookAhead(std::span(keys).first(revisions.size()));
}

// A checksum waits for the value's memory, so all are asked for before the first one is computed.
Result<std::size_t> LmdbSnapshot::GetRevisions(std::span<const Revision> revisions,
                                               std::span<std::optional<RevisionRecord>> records) {
  constexpr std::size_t kMostAtOnce = 16;
  // The reader may want no more of them than the first.
  constexpr std::size_t kEnoughBytes = 64 * 1024;
  constexpr std::size_t kLineBytes = 64;
  constexpr std::size_t kMostPrefetchedBytes = 16 * kLineBytes;  // of a value
  std::array<Stored, kMostAtOnce> stored;
  std::size_t count = 0;
  for (std::size_t bytes = 0;
       count < std::min(kMostAtOnce, revisions.size()) && bytes < kEnoughBytes; ++count) {
    KV_TRY(stored[count], Seek(revisions[count]));
    const std::string_view value = stored[count].value;
    bytes += value.size();
    for (std::size_t at = 0; at < std::min(value.size(), kMostPrefetchedBytes); at += kLineBytes)
      __builtin_prefetch(value.data() + at);
  }
  for (std::size_t i = 0; i < count; ++i) {
    KV_TRY(records[i], Verified(revisions[i], stored[i]));
  }
  return count;
}

Result<LmdbSnapshot::Stored> LmdbSnapshot::Seek(Revision revision) {
  KV_TRY(MDB_cursor * cursor, Use(lookup_));
  const RevisionKey revision_key(revision);
  const TreeKey tree_key(Bucket::kKey, revision_key.view());
  MDB_val found = ToLmdb(tree_key.view());
  MDB_val stored;
  // The record's key is this one, or this one followed by the tombstone's mark.
  const int code = mdb_cursor_get(cursor, &found, &stored, MDB_SET_RANGE);
  if (code == MDB_NOTFOUND) return Stored{};
  if (code != 0) return Fail(ErrorOf(code, "read"));
  const std::string_view found_key = FromLmdb(found);
  if (!found_key.starts_with(tree_key.view())) return Stored{};
  lookups_.Follow(found_key, FromLmdb(stored));
  return Stored{.tree_key = found_key, .value = FromLmdb(stored)};
}

Result<std::optional<RevisionRecord>> LmdbSnapshot::Verified(Revision revision,
                                                             const Stored& stored) const {
  if (stored.tree_key.empty()) return std::nullopt;
  KV_TRY(const std::string_view value, Verify(stored.tree_key, stored.value));
  constexpr std::size_t kTreeKeyBytes = 1 + RevisionKey::kSizeBytes;
  return RevisionRecord{revision, value, stored.tree_key.size() != kTreeKeyBytes};
}

template <class VisitStored>
Result<void> LmdbSnapshot::ScanStored(Bucket bucket, std::string_view from, std::string_view to,
                                      const VisitStored& visit) {
  if (from.size() > kMaxBucketKeySizeBytes) from = from.substr(0, kMaxBucketKeySizeBytes);
  KV_TRY(MDB_cursor * cursor, Use(scan_));
  const TreeKey begin(bucket, from);
  const TreeKey end =
      to.empty() ? TreeKey::EndOf(bucket) : TreeKey(bucket, to.substr(0, kMaxBucketKeySizeBytes));
  MDB_val key = ToLmdb(begin.view());
  MDB_val stored;
  int code = mdb_cursor_get(cursor, &key, &stored, MDB_SET_RANGE);
  std::string_view previous;
  while (code == 0 && FromLmdb(key) < end.view()) {
    const std::string_view tree_key = FromLmdb(key);
    // No checksum covers the pages' own structure; damage there shows as keys that do not ascend.
    if (tree_key <= previous) return Fail(ErrorOf(MDB_CORRUPTED, "scan"));
    previous = tree_key;
    KV_TRY(const bool more, visit(tree_key, FromLmdb(stored)));
    if (!more) return {};
    code = mdb_cursor_get(cursor, &key, &stored, MDB_NEXT);
  }
  if (code != 0 && code != MDB_NOTFOUND) return Fail(ErrorOf(code, "scan"));
  return {};
}

Result<void> LmdbSnapshot::Scan(Bucket bucket, std::string_view from, std::string_view to,
                                const Visit& visit) {
  return ScanStored(bucket, from, to,
                    [&](std::string_view tree_key, std::string_view stored) -> Result<bool> {
                      scans_.Follow(tree_key, stored);
                      KV_TRY(const std::string_view value, Verify(tree_key, stored));
                      return visit(tree_key.substr(1), value);
                    });
}

Result<void> LmdbSnapshot::ScanSizes(Bucket bucket, std::string_view from, std::string_view to,
                                     const VisitSize& visit) {
  return ScanStored(
      bucket, from, to, [&](std::string_view tree_key, std::string_view stored) -> Result<bool> {
        scans_.FollowKey(tree_key);
        if (stored.size() < lmdb_format::kChecksumSizeBytes)
          KV_RETURN_IF_ERROR(Verify(tree_key, stored));
        return visit(tree_key.substr(1), stored.size() - lmdb_format::kChecksumSizeBytes);
      });
}

Result<std::uint64_t> LmdbSnapshot::CountRevisions() {
  MDB_stat tree;
  if (const int code = mdb_stat(transaction_, kLmdbTree, &tree); code != 0) {
    return Fail(ErrorOf(code, "stat"));
  }
  // The other buckets are small and come before it.
  KV_TRY(MDB_cursor * cursor, Use(scan_));
  std::uint64_t others = 0;
  MDB_val key;
  int code = mdb_cursor_get(cursor, &key, nullptr, MDB_FIRST);
  while (code == 0 && FromLmdb(key)[0] != lmdb_format::kRevisionTag) {
    ++others;
    code = mdb_cursor_get(cursor, &key, nullptr, MDB_NEXT);
  }
  if (code != 0 && code != MDB_NOTFOUND) return Fail(ErrorOf(code, "scan"));
  return tree.ms_entries - others;
}

// ---- LmdbEnvironment ----

Result<std::unique_ptr<LmdbEnvironment>> LmdbEnvironment::Open(Options options, LmdbFileLock lock,
                                                               std::mutex& readers_mutex) {
  struct stat status;
  if (::fstat(lock.fd(), &status) != 0) {
    return Fail(LmdbError(errno, "stat", options.path));
  }
  // The lock is of the file and not of its name, by which LMDB opens it, or makes a missing one.
  if (!IsNameOf(options.path, status)) return WasReplaced(options.path);
  const auto smallest =
      std::max<std::uint64_t>(kSmallestMapBytes, 2 * static_cast<std::uint64_t>(status.st_size));
  std::unique_ptr<LmdbEnvironment> environment(
      new LmdbEnvironment(std::move(options), std::move(lock), readers_mutex));
  int code = environment->OpenEnv();
  // For `ulimit -v` and small machines: take the address space that is available. Past the end of
  // it valgrind says EINVAL.
  while ((code == ENOMEM || code == EINVAL) &&
         environment->options_.map_size_bytes / 2 >= smallest) {
    environment->options_.map_size_bytes /= 2;
    code = environment->OpenEnv();
  }
  if (code != 0) return Fail(LmdbError(code, "open", environment->path()));
  if (!HasOpened(environment->env(), status)) return WasReplaced(environment->path());
  return environment;
}

int LmdbEnvironment::OpenEnv() {
  const unsigned max_readers = options_.max_readers + kReservedReaders;
  if (!options_.read_only) {
    if (const int code = ReserveLockFile(options_.path, max_readers); code != 0) return code;
  }
  if (const int code = mdb_env_create(&env_); code != 0) return code;
  mdb_env_set_assert(env_, AssertFailed);
  unsigned flags = MDB_NOSUBDIR | MDB_NOTLS | MDB_NORDAHEAD;
  if (options_.sync == CommitSync::kByHand) flags |= MDB_NOSYNC;
  // LMDB's own locks are in a file beside it that has to be written. They are for writers and
  // readers in one file, and the lock of the file keeps every writer out.
  if (options_.read_only) flags |= MDB_RDONLY | MDB_NOLOCK;
  int code = mdb_env_set_mapsize(env_, options_.map_size_bytes);
  if (code == 0) code = mdb_env_set_maxreaders(env_, max_readers);
  if (code == 0) code = mdb_env_open(env_, options_.path.c_str(), flags, 0600);
  int dead_readers = 0;
  if (code == 0) code = mdb_reader_check(env_, &dead_readers);
  MDB_txn* transaction = nullptr;
  if (code == 0) code = mdb_txn_begin(env_, nullptr, MDB_RDONLY, &transaction);
  MDB_dbi tree = 0;
  if (code == 0) code = mdb_dbi_open(transaction, nullptr, 0, &tree);
  unsigned tree_flags = 0;
  if (code == 0) code = mdb_dbi_flags(transaction, tree, &tree_flags);
  if (transaction != nullptr) mdb_txn_abort(transaction);
  if (code == 0 && (tree != kLmdbTree || tree_flags != 0)) code = MDB_INCOMPATIBLE;
  if (code != 0) {
    mdb_env_close(env_);
    env_ = nullptr;
  }
  return code;
}

LmdbEnvironment::~LmdbEnvironment() {
  KV_CHECK(live_ == 0, "readers outlive their database");
  snapshots_.clear();
  if (env_ != nullptr) mdb_env_close(env_);
}

Result<void> LmdbEnvironment::WriteFormat() {
  LmdbWrite write;
  int code = write.Begin(*this);
  if (code == 0) code = write.Put(lmdb_format::kFormatKey, lmdb_format::kFormat);
  if (code == 0) code = write.Commit();
  if (code != 0) return Fail(LmdbError(code, "write", path()));
  return {};
}

Result<void> LmdbEnvironment::CheckFormat() {
  std::unique_lock lock(readers_mutex_);
  KV_TRY(LmdbSnapshot * snapshot, TakeSnapshot(lock, ReaderPlace::kReserved));
  lock.unlock();
  const Reader reader(snapshot);
  MDB_val key = ToLmdb(lmdb_format::kFormatKey);
  MDB_val stored;
  const int code = mdb_get(snapshot->transaction(), kLmdbTree, &key, &stored);
  if (code != 0 && code != MDB_NOTFOUND) return Fail(LmdbError(code, "read", path()));
  if (code == MDB_NOTFOUND) {
    return Fail(Code::kDataLoss,
                fmt::format("mvcc: cannot use {} as the database: it is an LMDB file of another "
                            "program",
                            path()));
  }
  KV_TRY(const std::string_view format,
         snapshot->Verify(lmdb_format::kFormatKey, FromLmdb(stored)));
  if (format != lmdb_format::kFormat) {
    return Fail(Code::kDataLoss,
                fmt::format("mvcc: cannot use {} as the database: its format is \"{}\", this "
                            "server reads \"{}\"",
                            path(), format, lmdb_format::kFormat));
  }
  return {};
}

Result<LmdbSnapshot*> LmdbEnvironment::TakeSnapshot(std::unique_lock<std::mutex>& lock,
                                                    ReaderPlace place) {
#ifndef NDEBUG
  CheckThreadHasNone();
#endif
  readers_changed_.wait(lock, [this] { return !admits_none_; });
  const unsigned places =
      options_.max_readers + (place == ReaderPlace::kReserved ? kReservedReaders : 0);
  if (live_ >= places) return Fail(Code::kResourceExhausted, "mvcc: too many readers at once");
  if (idle_.empty()) {
    snapshots_.push_back(std::make_unique<LmdbSnapshot>(*this));
    idle_.reserve(snapshots_.capacity());
    idle_.push_back(snapshots_.back().get());
  }
  LmdbSnapshot* const snapshot = idle_.back();
  if (const int code = snapshot->Begin(); code != 0) {
    return Fail(LmdbError(code, "begin a read of", path()));
  }
  snapshot->map_ = map_;
  snapshot->round_ = round_.load(std::memory_order_relaxed);
  snapshot->holder_ = std::this_thread::get_id();
  idle_.pop_back();
  ++live_;
  if (options_.readers != nullptr) options_.readers->fetch_add(1, std::memory_order_relaxed);
  return snapshot;
}

void LmdbEnvironment::GiveBack(LmdbSnapshot* snapshot) {
  mdb_txn_reset(snapshot->transaction());
  std::lock_guard lock(readers_mutex_);
  snapshot->holder_ = {};
  idle_.push_back(snapshot);
  --live_;
  if (options_.readers != nullptr) options_.readers->fetch_sub(1, std::memory_order_relaxed);
  if (IsToldToEnd(*snapshot)) --told_to_end_;
  if (is_growing_ && told_to_end_ == 0) readers_changed_.notify_all();
}

void LmdbEnvironment::CheckThreadHasNone() const {
  if (options_.readers == nullptr) return;
  const bool has_one = std::ranges::any_of(snapshots_, [](const auto& snapshot) {
    return snapshot->holder_ == std::this_thread::get_id();
  });
  KV_CHECK(!has_one, "a thread takes a second reader of the database");
}

void LmdbEnvironment::TellReadersToEnd() {
  round_.fetch_add(1, std::memory_order_relaxed);
  told_to_end_ = live_;
}

void LmdbEnvironment::WaitUntilIdle(std::unique_lock<std::mutex>& lock) {
  constexpr std::chrono::milliseconds kFirstMoment(20);
  constexpr std::chrono::milliseconds kLongestMoment(5'000);
  for (auto moment = kFirstMoment;; moment = std::min(2 * moment, kLongestMoment)) {
    TellReadersToEnd();
    readers_changed_.wait(lock, [this] { return told_to_end_ == 0; });
    admits_none_ = true;
    TellReadersToEnd();  // who came in between
    if (readers_changed_.wait_for(lock, moment, [this] { return live_ == 0; })) return;
    admits_none_ = false;
    readers_changed_.notify_all();
  }
}

Result<void> LmdbEnvironment::GrowMap() {
  const std::uint64_t size_bytes = options_.map_size_bytes * 2;
  // LMDB releases the old map before it makes the new one, so check for the address space first.
  void* const probe =
      ::mmap(nullptr, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (probe == MAP_FAILED) return Fail(LmdbError(MDB_MAP_FULL, "grow the map of", path()));
  ::munmap(probe, size_bytes);
  std::unique_lock lock(readers_mutex_);
  is_growing_ = true;
  WaitUntilIdle(lock);
  const int code = mdb_env_set_mapsize(env_, size_bytes);
  KV_CHECK(code == 0, "the database's map could not grow and its old one is gone");
  options_.map_size_bytes = size_bytes;
  map_ = {};
  sought_map_ = false;
  is_growing_ = false;
  admits_none_ = false;
  readers_changed_.notify_all();
  return {};
}

bool LmdbEnvironment::SyncHasFailed() const { return ::fdatasync(file_lock_.fd()) != 0; }

int LmdbEnvironment::DuplicateFile() const {
  mdb_filehandle_t file = -1;
  return mdb_env_get_fd(env_, &file) == 0 ? ::fcntl(file, F_DUPFD_CLOEXEC, 0) : -1;
}

bool LmdbEnvironment::HasEnded() const {
  MDB_txn* transaction = nullptr;
  const int code = mdb_txn_begin(env_, nullptr, 0, &transaction);
  if (code == 0) mdb_txn_abort(transaction);
  return code == MDB_PANIC;
}

Result<void> LmdbEnvironment::SyncEachCommitFromNow() {
  if (options_.sync == CommitSync::kEachCommit) return {};
  int code = mdb_env_set_flags(env_, MDB_NOSYNC, 0);
  if (code == 0) code = mdb_env_sync(env_, 1);
  if (code != 0) return Fail(LmdbError(code, "sync", path()));
  options_.sync = CommitSync::kEachCommit;
  return {};
}

void LmdbEnvironment::LearnMap(const LmdbSnapshot& snapshot, const MDB_envinfo& info,
                               std::uint64_t page_bytes) {
  const char* begin = snapshot.map_.begin;
  if (begin == nullptr) {
    {
      std::lock_guard lock(readers_mutex_);
      if (std::exchange(sought_map_, true)) return;
    }
    MDB_val key = ToLmdb(lmdb_format::kFormatKey);
    MDB_val stored;
    if (mdb_get(snapshot.transaction(), kLmdbTree, &key, &stored) != 0) return;
    const auto format = snapshot.Verify(lmdb_format::kFormatKey, FromLmdb(stored));
    if (format.has_value()) begin = FindMapOf(format->data());
  }
  struct stat file;
  if (begin == nullptr || ::fstat(file_lock_.fd(), &file) != 0) return;
  std::lock_guard lock(readers_mutex_);
  map_ = {.begin = begin,
          .page_bytes = page_bytes,
          .size_bytes = std::min(static_cast<std::uint64_t>(file.st_size),
                                 static_cast<std::uint64_t>(info.me_mapsize))};
}

Result<LmdbEnvironment::Sizes> LmdbEnvironment::ReadSizes() {
  std::unique_lock lock(readers_mutex_);
  KV_TRY(LmdbSnapshot * snapshot, TakeSnapshot(lock, ReaderPlace::kReserved));
  lock.unlock();
  const Reader reader(snapshot);
  MDB_stat free_list;
  MDB_stat tree;
  MDB_envinfo info;
  int code = mdb_stat(snapshot->transaction(), kFreeListTree, &free_list);
  if (code == 0) code = mdb_stat(snapshot->transaction(), kLmdbTree, &tree);
  if (code == 0) code = mdb_env_info(env_, &info);
  if (code != 0) return Fail(LmdbError(code, "stat", path()));
  const auto pages = [](const MDB_stat& stat) {
    return stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages;
  };
  LearnMap(*snapshot, info, tree.ms_psize);
  constexpr std::uint64_t kMetaPages = 2;
  return Sizes{.allocated_bytes = (info.me_last_pgno + 1) * tree.ms_psize,
               .in_use_bytes = (kMetaPages + pages(free_list) + pages(tree)) * tree.ms_psize,
               .entries = tree.ms_entries};
}

}  // namespace kvorum::mvcc
