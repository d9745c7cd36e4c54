#include "tools/carry/snapshot_download.h"

#include <fcntl.h>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <optional>
#include <utility>

#include "base/digest/sha256.h"
#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/file_system.h"
#include "base/own_file.h"
#include "base/text/gzip.h"
#include "client/error_text.h"
#include "datadir/snapshot_checksum.h"
#include "proto/rpc.pb.h"
#include "rpc/tls/socket.h"

namespace kvorum::ctl {
namespace {

constexpr std::string_view kSeriesPrefix = "snapshot-";

// A download is an interruption if it fails, as with etcdctl.
std::unexpected<Failure> FailDownload(std::string text) {
  return Fail(ExitCode::kInterrupted, std::move(text));
}

// The temporary name until it is finished; removed if it never is.
class PartFile {
 public:
  explicit PartFile(const SnapshotDownload& download)
      : path_(download.path), part_path_(download.part_path) {}
  ~PartFile() {
    // While the lock is held: afterwards the name may be another save's.
    if (fd_.get() >= 0) ::unlink(part_path_.c_str());
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;

  Outcome<void> Open() {
    FileDescriptor file(
        ::open(part_path_.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
    const int fd = file.get();
    if (fd < 0) {
      return FailDownload(
          fmt::format("could not open {0} (open {0}: {1})", part_path_, GoErrnoText(errno)));
    }
    if (::flock(fd, LOCK_EX | LOCK_NB) != 0)
      return FailDownload(fmt::format("another process saves to {}", part_path_));
    // The keys go into it: a file that somebody else put there could be read by him.
    if (const auto own = CheckOwnFile(fd, part_path_); !own)
      return FailDownload(own.error().message);
    // The save that had the lock before may have finished: then the file has another name.
    if (!HasItsName(fd)) {
      file.Close();
      return Open();
    }
    fd_ = std::move(file);
    // A save that was killed has left its part, and an old one may have made it for others too.
    if (::fchmod(fd, S_IRUSR | S_IWUSR) != 0) {
      return FailDownload(fmt::format("could not chmod {}: {}", part_path_, GoErrnoText(errno)));
    }
    if (::ftruncate(fd, 0) == 0) return {};
    return FailDownload(fmt::format("could not truncate {}: {}", part_path_, GoErrnoText(errno)));
  }

  bool HasItsName(int fd) const {
    struct stat opened;
    struct stat named;
    return ::fstat(fd, &opened) == 0 && ::lstat(part_path_.c_str(), &named) == 0 &&
           opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
  }

  Outcome<void> Write(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(fd_.get(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) {
        return FailDownload(
            fmt::format("could not write snapshot: write {}: {}", part_path_, GoErrnoText(errno)));
      }
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

  Outcome<void> Finish() {
    if (::fsync(fd_.get()) != 0)
      return FailDownload(fmt::format("could not fsync snapshot: {}", GoErrnoText(errno)));
    if (::rename(part_path_.c_str(), path_.c_str()) != 0) {
      return FailDownload(
          fmt::format("could not rename {} to {} ({})", part_path_, path_, GoErrnoText(errno)));
    }
    fd_.Close();
    const auto synced = PosixFileSystem().SyncDirectory(ParentDirectory(path_));
    if (!synced.has_value()) return FailDownload(synced.error().message);
    return {};
  }

 private:
  const std::string path_;
  const std::string part_path_;
  FileDescriptor fd_;
};

// The hash of all bytes but the last 32, which are what it should be.
class TrailingHash {
 public:
  void Add(std::string_view bytes) {
    size_bytes_ += bytes.size();
    tail_.append(bytes);
    if (tail_.size() <= datadir::kSnapshotHashBytes) return;
    const std::size_t before = tail_.size() - datadir::kSnapshotHashBytes;
    hash_.Add(std::string_view(tail_).substr(0, before));
    tail_.erase(0, before);
  }
  Outcome<void> Check() {
    if (!datadir::HasSnapshotHash(size_bytes_))
      return FailDownload(fmt::format("sha256 checksum not found [bytes: {}]", size_bytes_));
    if (const std::string got = hash_.Finish(); got != tail_)
      return FailDownload(datadir::HashMismatch(tail_, got).message);
    return {};
  }

 private:
  Sha256 hash_;
  std::string tail_;
  std::uint64_t size_bytes_ = 0;
};

bool IsSeriesName(std::string_view name) {
  if (!name.starts_with(kSeriesPrefix)) return false;
  name.remove_prefix(kSeriesPrefix.size());
  constexpr std::string_view kShape = "00000000T000000Z";
  if (name.size() < kShape.size()) return false;
  for (std::size_t i = 0; i < kShape.size(); ++i) {
    const bool fits = kShape[i] == '0' ? name[i] >= '0' && name[i] <= '9' : name[i] == kShape[i];
    if (!fits) return false;
  }
  name.remove_prefix(kShape.size());
  return name == ".db" || name == ".db.gz";
}

}  // namespace

Outcome<std::string> DownloadSnapshot(client::Client& client, const client::CallOptions& call,
                                      const SnapshotDownload& download,
                                      DownloadProgress& progress) {
  PartFile file(download);
  KV_RETURN_IF_ERROR(file.Open());
  TrailingHash hash;
  std::optional<GzipWriter> gzip;
  if (download.compress) gzip.emplace();
  std::string version;
  Outcome<void> written;
  const auto ended = client.Snapshot(
      [&](etcdserverpb::SnapshotResponse&& part) -> Result<void> {
        if (!part.version().empty()) version = part.version();
        hash.Add(part.blob());
        progress.done_bytes += part.blob().size();
        progress.whole_bytes = progress.done_bytes + part.remaining_bytes();
        written = file.Write(gzip ? gzip->Add(part.blob()) : part.blob());
        if (!written) return kvorum::Fail(Code::kCanceled, "the file can't be written");
        return {};
      },
      call);
  if (!written) return std::unexpected(written.error());
  if (!ended) return FailDownload(client::ErrorText(ended.error()));
  KV_RETURN_IF_ERROR(hash.Check());
  if (gzip) KV_RETURN_IF_ERROR(file.Write(gzip->Finish()));
  KV_RETURN_IF_ERROR(file.Finish());
  return version;
}

std::string SeriesName(std::int64_t unix_s, bool compress) {
  return fmt::format("{}{:%Y%m%dT%H%M%SZ}.db{}", kSeriesPrefix,
                     fmt::gmtime(static_cast<std::time_t>(unix_s)), compress ? ".gz" : "");
}

std::vector<std::string> OutdatedNames(std::vector<std::string> names, std::size_t keep,
                                       std::string_view newest) {
  std::erase_if(names,
                [&](const std::string& name) { return !IsSeriesName(name) || name == newest; });
  std::ranges::sort(names);  // by time
  names.resize(names.size() - std::min(keep - 1, names.size()));
  return names;
}

}  // namespace kvorum::ctl
