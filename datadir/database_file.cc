#include "datadir/database_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "api/storage_version.h"
#include "base/file_descriptor.h"
#include "base/file_system.h"
#include "bbolt/reader.h"
#include "datadir/acting_as_owner.h"
#include "datadir/layout.h"
#include "datadir/wait_for_lock.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/lmdb/long_key.h"
#include "mvcc/records/bucket.h"
#include "mvcc/records/revision.h"
#include "mvcc/transfer/etcd_content.h"

namespace kvorum::datadir {
namespace {

std::unexpected<Error> InUse(const std::string& path) {
  return Fail(Code::kFailedPrecondition, "timeout: another process uses " + path);
}

// A lock that is shared with readers, and that etcd and its tools take for themselves to write.
class SharedLock {
 public:
  static Result<SharedLock> Take(const std::string& path) {
    const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0)
      return Fail(errno == ENOENT ? Code::kNotFound : Code::kPermissionDenied,
                  "open " + path + ": " + ErrnoText(errno));
    SharedLock lock(fd);
    if (::flock(fd, LOCK_SH | LOCK_NB) != 0) {
      if (errno == EWOULDBLOCK) return InUse(path);
      return Fail(Code::kUnknown, "lock " + path + ": " + ErrnoText(errno));
    }
    // The lock is of the file and not of its name.
    struct stat locked{};
    struct stat named{};
    if (::fstat(fd, &locked) != 0 || ::stat(path.c_str(), &named) != 0 ||
        locked.st_dev != named.st_dev || locked.st_ino != named.st_ino)
      return InUse(path);
    return lock;
  }

 private:
  explicit SharedLock(int fd) : fd_(fd) {}
  FileDescriptor fd_;
};

class EtcdFile final : public DatabaseFile {
 public:
  EtcdFile(SharedLock lock, std::unique_ptr<bbolt::Reader> reader)
      : lock_(std::move(lock)), reader_(std::move(reader)) {}

  DatabaseKind kind() const override { return DatabaseKind::kEtcd; }
  std::uint64_t SizeBytes() const override { return reader_->SizeBytes(); }
  Result<void> Check(const OnBytes& on_bytes) override { return reader_->Check(on_bytes); }

  Result<std::optional<std::string>> GetMeta(std::string_view key) override {
    KV_TRY(const auto meta, reader_->FindBucket(mvcc::BucketName(mvcc::Bucket::kMeta)));
    if (!meta.has_value()) return std::nullopt;
    return reader_->Get(*meta, key);
  }

  Result<void> Visit(const Visitor& visitor) override {
    return reader_->Visit(
        {.bucket = visitor.bucket, .record = visitor.record, .nested = visitor.nested});
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
  // `told` is the storage version that etcd's file of this database would state.
  KvorumFile(ActingAsOwner acting, std::unique_ptr<mvcc::Backend> backend, mvcc::Reader reader,
             std::optional<std::string> told)
      : acting_(std::move(acting)),
        backend_(std::move(backend)),
        reader_(std::move(reader)),
        told_(std::move(told)) {}
  DatabaseKind kind() const override { return DatabaseKind::kKvorum; }
  std::uint64_t SizeBytes() const override { return backend_->SizeBytes(); }

  // Each record is checked as it is read.
  Result<void> Check(const OnBytes& on_bytes) override {
    std::uint64_t checked = 0;
    return Visit({.bucket = [](std::string_view) -> Result<void> { return {}; },
                  .record = [&](std::string_view key, std::string_view value) -> Result<void> {
                    if (on_bytes) on_bytes(checked += key.size() + value.size());
                    return {};
                  }});
  }

  Result<std::optional<std::string>> GetMeta(std::string_view key) override {
    if (key == mvcc::meta_key::kStorageVersion && told_.has_value()) {
      if (told_->empty()) return std::nullopt;
      return told_;
    }
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
            visited = VisitStored(visitor, bucket, key, value);
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
  Result<void> VisitStored(const Visitor& visitor, mvcc::Bucket bucket, std::string_view key,
                           std::string_view value) const {
    if (!mvcc::IsEtcds(bucket, key)) return {};
    KV_TRY(const auto record, mvcc::ReadStored(bucket, key, value));
    return VisitRecord(visitor, bucket, record.key, record.value);
  }
  Result<void> VisitRecord(const Visitor& visitor, mvcc::Bucket bucket, std::string_view key,
                           std::string_view value) const {
    if (bucket != mvcc::Bucket::kMeta || key != mvcc::meta_key::kStorageVersion ||
        !told_.has_value())
      return visitor.record(key, value);
    return told_->empty() ? Result<void>() : visitor.record(key, *told_);
  }

  const ActingAsOwner acting_;  // in the database's folder
  std::unique_ptr<mvcc::Backend> backend_;
  std::optional<mvcc::Reader> reader_;
  const std::optional<std::string> told_;  // nullopt: its own
};

Result<std::unique_ptr<DatabaseFile>> OpenEtcds(const std::string& path) {
  KV_TRY(SharedLock lock, SharedLock::Take(path));
  auto reader = bbolt::Reader::Open(PosixFileSystem(), path);
  if (!reader.has_value()) {
    if (reader.error().code != Code::kDataLoss) return std::unexpected(reader.error());
    return Fail(Code::kDataLoss, "invalid database: " + reader.error().message);
  }
  return std::make_unique<EtcdFile>(std::move(lock), *std::move(reader));
}

// Writes nothing. The folder's owner may have put links there, to what only root may read.
Result<std::unique_ptr<DatabaseFile>> OpenOurs(const std::string& name) {
  const std::string folder = ParentDirectory(name);
  KV_TRY(ActingAsOwner acting, ActingAsOwner::OfFolder(folder));
  const std::string reached = acting.Reach(folder);
  const std::string path =
      reached == folder ? name : (reached + "/").append(name.substr(name.rfind('/') + 1));
  auto backend =
      mvcc::OpenLmdbBackend({.path = path, .check = mvcc::LmdbCheck::kAllPages, .read_only = true});
  if (!backend.has_value() && backend.error().code == Code::kFailedPrecondition) return InUse(name);
  if (!backend.has_value()) return Fail(acting.Named(std::move(backend).error()));
  KV_TRY(mvcc::Reader reader, (*backend)->NewReader());
  KV_TRY(const auto cluster_version, reader->Get(mvcc::Bucket::kCluster, "clusterVersion"));
  return std::make_unique<KvorumFile>(std::move(acting), *std::move(backend), std::move(reader),
                                      server::ImageStorageVersion(cluster_version.value_or("")));
}

}  // namespace

Result<DatabaseKind> KindOfDatabase(const std::string& path) {
  KV_TRY(const DatabaseOwner owner, OwnerOfDatabase(PosixFileSystem(), path));
  switch (owner) {
    case DatabaseOwner::kEtcd:
      return DatabaseKind::kEtcd;
    case DatabaseOwner::kKvorum:
      return DatabaseKind::kKvorum;
    case DatabaseOwner::kNobody:
      return Fail(Code::kNotFound, "open " + path + ": " + ErrnoText(ENOENT));
    case DatabaseOwner::kUnknown:
      break;
  }
  return Fail(Code::kDataLoss, "invalid database");
}

Result<std::unique_ptr<DatabaseFile>> OpenDatabaseFile(const std::string& path, Duration timeout) {
  // The process that held the lock may have left another kind of file there.
  return WaitForLock(timeout, [&]() -> Result<std::unique_ptr<DatabaseFile>> {
    KV_TRY(const DatabaseKind kind, KindOfDatabase(path));
    return kind == DatabaseKind::kEtcd ? OpenEtcds(path) : OpenOurs(path);
  });
}

}  // namespace kvorum::datadir
