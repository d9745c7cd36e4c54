#include "datadir/rewrite.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <string_view>

#include "base/crc32c.h"
#include "base/file_descriptor.h"
#include "base/text/human_bytes.h"
#include "bbolt/file_writer.h"
#include "bbolt/reader.h"
#include "datadir/layout.h"
#include "mvcc/records/bucket.h"

namespace kvorum::datadir {
namespace {

class Rewriting {
 public:
  Rewriting(bbolt::Reader& from, File& to, const RewriteOptions& options)
      : from_(from),
        options_(options),
        to_(to, from.meta().page_size, [this](std::uint64_t written) { TellProgress(written); }) {}

  // The CRC-32C over all names, keys and values that were put, as bbolt::ContentHash computes it.
  Result<std::uint32_t> Run() {
    bbolt::Cursor names = from_.NewCursor(from_.root());
    KV_TRY(bool more, names.First());
    while (more) {
      if (!names.is_bucket()) return NotEtcds("a key outside any bucket");
      KV_RETURN_IF_ERROR(CopyBucket(names));
      KV_TRY(more, names.Next());
    }
    KV_RETURN_IF_ERROR(to_.Finish());
    return crc_;
  }

 private:
  static std::unexpected<Error> NotEtcds(std::string_view what) {
    return Fail(Code::kDataLoss,
                "the database has " + std::string(what) + ": it is not an etcd database");
  }

  void TellProgress(std::uint64_t written) const {
    const std::uint64_t total = from_.SizeBytes();
    Tell(options_.on_progress, kCopying, std::min(written, total), total);
  }

  Result<void> CopyBucket(const bbolt::Cursor& at) {
    crc_ = Crc32c(crc_, at.key());
    KV_RETURN_IF_ERROR(to_.content().BeginBucket(at.key()));
    const bool is_meta = at.key() == mvcc::BucketName(mvcc::Bucket::kMeta);
    KV_TRY(const bbolt::Bucket bucket, at.bucket());
    bool stated = !is_meta || options_.storage_version.value_or("").empty();
    bbolt::Cursor records = from_.NewCursor(bucket);
    KV_TRY(bool more, records.First());
    while (more) {
      if (records.is_bucket()) return NotEtcds("a bucket within a bucket");
      const bool is_version = is_meta && options_.storage_version.has_value() &&
                              records.key() == mvcc::meta_key::kStorageVersion;
      if (!stated && records.key() >= mvcc::meta_key::kStorageVersion) {
        KV_RETURN_IF_ERROR(Put(mvcc::meta_key::kStorageVersion, *options_.storage_version));
        stated = true;
      }
      if (!is_version) KV_RETURN_IF_ERROR(Put(records.key(), records.value()));
      KV_TRY(more, records.Next());
    }
    if (!stated) return Put(mvcc::meta_key::kStorageVersion, *options_.storage_version);
    return {};
  }

  Result<void> Put(std::string_view key, std::string_view value) {
    crc_ = Crc32c(Crc32c(crc_, key), value);
    KV_RETURN_IF_ERROR(to_.content().Put(key, value));
    return to_.WriteReady();
  }

  bbolt::Reader& from_;
  const RewriteOptions& options_;
  bbolt::FileWriter to_;
  std::uint32_t crc_ = 0;
};

// Filling the disk up to the last byte would fail other writers. A file system that does not report
// its free space sets no limit.
Result<void> CheckRoom(FileSystem& fs, const std::string& path, std::uint64_t needed_bytes) {
  const auto free = fs.FreeSpace(ParentDirectory(path));
  if (!free.has_value() || *free > needed_bytes) return {};
  return Fail(Code::kResourceExhausted, "no room for a copy of " + path + ": it takes " +
                                            HumanBytes(needed_bytes) + ", and " +
                                            HumanBytes(*free) + " are free");
}

Result<void> MakeCopy(FileSystem& fs, const RewriteOptions& options, const std::string& copy) {
  std::uint32_t put = 0;
  {
    KV_TRY(const auto from, bbolt::Reader::Open(fs, options.path));
    // The walk would believe a page that is free, or that two branches have.
    std::uint64_t in_use_bytes = 0;
    KV_RETURN_IF_ERROR(from->Check([&](std::uint64_t checked) {
      in_use_bytes = checked;
      Tell(options.on_progress, kChecking, checked, from->SizeBytes());
    }));
    KV_RETURN_IF_ERROR(CheckRoom(fs, options.path, in_use_bytes));
    KV_TRY(const auto to, fs.Open(copy, FileSystem::OpenMode::kCreate));
    KV_TRY(put, Rewriting(*from, *to, options).Run());
  }
  Tell(options.on_progress, kComparing);
  KV_TRY(const auto made, bbolt::Reader::Open(fs, copy));
  KV_TRY(const std::uint32_t read, bbolt::ContentHash(*made));
  if (read == put) return {};
  return Fail(Code::kDataLoss, copy + " differs from the database that it was made from");
}

// Tells whether a file of the machine still has a name. A simulated disk's has none there.
class Names {
 public:
  explicit Names(const std::string& path) : fd_(::open(path.c_str(), O_PATH | O_CLOEXEC)) {}
  bool any() const {
    struct stat status{};
    return ::fstat(fd_.get(), &status) == 0 && status.st_nlink > 0;
  }

 private:
  const FileDescriptor fd_;
};

// The lock is of the file and not of its name: a server that waits for it has the old file open
// and would go on in it.
Result<void> Spoil(File& old, std::uint32_t page_size) {
  const std::string zeros(2 * std::size_t{page_size}, '\0');
  const std::array<std::string_view, 1> part = {zeros};
  return old.WriteAt(0, part);
}

}  // namespace

Result<void> RewriteEtcds(FileSystem& fs, const RewriteOptions& options) {
  const std::string copy = RewriteOf(options.path);
  KV_RETURN_IF_ERROR(RemoveIfThere(fs, copy));
  if (const auto made = MakeCopy(fs, options, copy); !made.has_value()) {
    static_cast<void>(RemoveIfThere(fs, copy));
    return made;
  }
  KV_TRY(const auto old, fs.Open(options.path, FileSystem::OpenMode::kReadWrite));
  KV_TRY(const auto reader, bbolt::Reader::Open(fs, options.path));
  const Names others(options.path);
  KV_RETURN_IF_ERROR(fs.Rename(copy, options.path));
  KV_RETURN_IF_ERROR(fs.SyncDirectory(ParentDirectory(options.path)));
  if (others.any()) return {};  // somebody's backup
  return Spoil(*old, reader->meta().page_size);
}

}  // namespace kvorum::datadir
