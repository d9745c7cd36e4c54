#include "datadir/database_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "base/file_system.h"
#include "bbolt/reader.h"
#include "datadir/layout.h"
#include "mvcc/backend.h"
#include "mvcc/bucket.h"
#include "mvcc/etcd_content.h"
#include "mvcc/revision.h"

namespace kvorum::datadir {
namespace {

// Both formats have a page header of 16 bytes before the magic number of their first page.
constexpr std::size_t kMagicOffset = 16;
constexpr std::uint32_t kBboltMagic = 0xED0CDAED;

constexpr std::chrono::milliseconds kLockPause(50);

// A lock that is shared with readers, and that etcd and its tools take for themselves to write.
class SharedLock {
 public:
  static Result<SharedLock> Take(const std::string& path, Duration timeout) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
      return Fail(errno == ENOENT ? Code::kNotFound : Code::kPermissionDenied,
                  "open " + path + ": " + std::strerror(errno));
    SharedLock lock(fd);
    const auto begin = std::chrono::steady_clock::now();
    while (::flock(fd, LOCK_SH | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK)
        return Fail(Code::kUnknown, "lock " + path + ": " + std::strerror(errno));
      if (timeout.count() > 0 && std::chrono::steady_clock::now() - begin >= timeout)
        return Fail(Code::kFailedPrecondition, "timeout: another process uses " + path);
      std::this_thread::sleep_for(kLockPause);
    }
    return lock;
  }
  SharedLock(SharedLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  SharedLock& operator=(SharedLock&&) = delete;
  ~SharedLock() {
    if (fd_ >= 0) ::close(fd_);
  }

 private:
  explicit SharedLock(int fd) : fd_(fd) {}
  int fd_;
};

class EtcdFile final : public DatabaseFile {
 public:
  EtcdFile(SharedLock lock, std::unique_ptr<bbolt::Reader> reader)
      : lock_(std::move(lock)), reader_(std::move(reader)) {}

  DatabaseKind kind() const override { return DatabaseKind::kEtcd; }
  std::uint64_t SizeBytes() const override { return reader_->SizeBytes(); }
  Result<void> Check() override { return reader_->Check(); }

  Result<std::optional<std::string>> GetMeta(std::string_view key) override {
    KV_TRY(const auto meta, reader_->FindBucket(mvcc::BucketName(mvcc::Bucket::kMeta)));
    if (!meta.has_value()) return std::nullopt;
    return reader_->Get(*meta, key);
  }

  Result<void> Visit(const Visitor& visitor) override {
    return reader_->Visit({.bucket = visitor.bucket, .record = visitor.record});
  }

  Result<void> VisitRevisions(const VisitRevision& visit) override {
    KV_TRY(const auto keys, reader_->FindBucket(mvcc::BucketName(mvcc::Bucket::kKey)));
    if (!keys.has_value()) return {};
    bbolt::Cursor cursor = reader_->NewCursor(*keys);
    KV_TRY(bool more, cursor.First());
    while (more) {
      KV_TRY(const auto key, mvcc::RevisionKey::Decode(cursor.key()));
      KV_RETURN_IF_ERROR(
          visit({.revision = key.revision, .value = cursor.value(), .tombstone = key.tombstone}));
      KV_TRY(more, cursor.Next());
    }
    return {};
  }

 private:
  const SharedLock lock_;
  const std::unique_ptr<bbolt::Reader> reader_;
};

class KvorumFile final : public DatabaseFile {
 public:
  KvorumFile(std::string lock_path, std::unique_ptr<mvcc::Backend> backend, mvcc::Reader reader)
      : lock_path_(std::move(lock_path)),
        backend_(std::move(backend)),
        reader_(std::move(reader)) {}
  ~KvorumFile() override {
    reader_.reset();
    backend_.reset();
    if (!lock_path_.empty()) ::unlink(lock_path_.c_str());
  }

  DatabaseKind kind() const override { return DatabaseKind::kKvorum; }
  std::uint64_t SizeBytes() const override { return backend_->SizeBytes(); }

  // Each record is checked as it is read.
  Result<void> Check() override {
    return Visit({.bucket = [](std::string_view) -> Result<void> { return {}; },
                  .record = [](std::string_view, std::string_view) -> Result<void> { return {}; }});
  }

  Result<std::optional<std::string>> GetMeta(std::string_view key) override {
    KV_TRY(const auto value, (*reader_)->Get(mvcc::Bucket::kMeta, key));
    if (!value.has_value()) return std::nullopt;
    return std::string(*value);
  }

  Result<void> Visit(const Visitor& visitor) override {
    for (const mvcc::Bucket bucket : mvcc::kBucketsByName) {
      KV_RETURN_IF_ERROR(visitor.bucket(mvcc::BucketName(bucket)));
      Result<void> visited;
      KV_RETURN_IF_ERROR(
          (*reader_)->Scan(bucket, {}, {}, [&](std::string_view key, std::string_view value) {
            if (mvcc::IsEtcds(bucket, key)) visited = visitor.record(key, value);
            return visited.has_value();
          }));
      KV_RETURN_IF_ERROR(visited);
    }
    return {};
  }

  Result<void> VisitRevisions(const VisitRevision& visit) override {
    Result<void> visited;
    Result<void> decoded;
    KV_RETURN_IF_ERROR((*reader_)->Scan(
        mvcc::Bucket::kKey, {}, {}, [&](std::string_view key, std::string_view value) {
          const auto revision = mvcc::RevisionKey::Decode(key);
          if (!revision.has_value()) {
            decoded = std::unexpected(revision.error());
            return false;
          }
          visited = visit(
              {.revision = revision->revision, .value = value, .tombstone = revision->tombstone});
          return visited.has_value();
        }));
    KV_RETURN_IF_ERROR(decoded);
    return visited;
  }

 private:
  const std::string lock_path_;  // of the file beside it that LMDB made; empty if it was there
  std::unique_ptr<mvcc::Backend> backend_;
  std::optional<mvcc::Reader> reader_;
};

Result<std::unique_ptr<DatabaseFile>> OpenEtcds(const std::string& path, Duration timeout) {
  KV_TRY(SharedLock lock, SharedLock::Take(path, timeout));
  auto reader = bbolt::Reader::Open(PosixFileSystem(), path);
  if (!reader.has_value()) {
    if (reader.error().code != Code::kDataLoss) return std::unexpected(reader.error());
    return Fail(Code::kDataLoss, "invalid database: " + reader.error().message);
  }
  return std::make_unique<EtcdFile>(std::move(lock), *std::move(reader));
}

Result<std::unique_ptr<DatabaseFile>> OpenOurs(const std::string& path, Duration timeout) {
  const std::string lock_path = path + "-lock";
  KV_TRY(const bool had_lock_file, PosixFileSystem().Exists(lock_path));
  const auto begin = std::chrono::steady_clock::now();
  auto backend = mvcc::OpenLmdbBackend({.path = path});
  while (!backend.has_value() && backend.error().code == Code::kFailedPrecondition) {
    if (timeout.count() > 0 && std::chrono::steady_clock::now() - begin >= timeout)
      return Fail(Code::kFailedPrecondition, "timeout: another process uses " + path);
    std::this_thread::sleep_for(kLockPause);
    backend = mvcc::OpenLmdbBackend({.path = path});
  }
  if (!backend.has_value()) return std::unexpected(backend.error());
  KV_TRY(mvcc::Reader reader, (*backend)->NewReader());
  return std::make_unique<KvorumFile>(had_lock_file ? "" : lock_path, *std::move(backend),
                                      std::move(reader));
}

}  // namespace

Result<DatabaseKind> KindOfDatabase(const std::string& path) {
  KV_TRY(const auto file, PosixFileSystem().Open(path, FileSystem::OpenMode::kRead));
  std::array<char, kMagicOffset + 4> head{};
  KV_TRY(const std::size_t size_bytes, file->ReadAt(0, head.data(), head.size()));
  std::uint32_t magic = 0;
  for (std::size_t i = 0; i < 4; ++i)
    magic |= std::uint32_t{static_cast<unsigned char>(head[kMagicOffset + i])} << (8 * i);
  if (size_bytes == head.size() && magic == kLmdbMagic) return DatabaseKind::kKvorum;
  // A damaged first page of etcd's file has a second one to stand in for it.
  if (size_bytes == head.size() || magic == kBboltMagic) return DatabaseKind::kEtcd;
  return Fail(Code::kDataLoss, "invalid database");
}

Result<std::unique_ptr<DatabaseFile>> OpenDatabaseFile(const std::string& path, Duration timeout) {
  KV_TRY(const DatabaseKind kind, KindOfDatabase(path));
  return kind == DatabaseKind::kEtcd ? OpenEtcds(path, timeout) : OpenOurs(path, timeout);
}

}  // namespace kvorum::datadir
