#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "base/file_system.h"
#include "base/own_file.h"

namespace kvorum {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirectoryMode = 0700;

Code CodeOf(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return Code::kResourceExhausted;
    case EIO:
      return Code::kDataLoss;
    case ENOENT:
      return Code::kNotFound;
    case EEXIST:
    case ENOTEMPTY:
      return Code::kAlreadyExists;
    case EACCES:
    case EPERM:
    case EROFS:
      return Code::kPermissionDenied;
    default:
      return Code::kUnknown;
  }
}

std::unexpected<Error> FailErrno(const char* operation, const std::string& path, int error) {
  return Fail(CodeOf(error), std::string(operation) + " " + path + ": " + ErrnoText(error));
}

std::unexpected<Error> FailErrno(const char* operation, const std::string& path,
                                 std::uint64_t offset, int error) {
  return Fail(CodeOf(error), std::string(operation) + " " + path + " at offset " +
                                 std::to_string(offset) + ": " + ErrnoText(error));
}

// Repeats a system call that a signal interrupted.
template <class Call>
auto Retry(Call call) {
  while (true) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

// Steps over `written` bytes of the remaining parts: the first `skip` bytes of parts[first] were
// already written.
void Advance(std::span<const std::string_view> parts, std::size_t written, std::size_t* first,
             std::size_t* skip) {
  while (*first < parts.size() && written >= parts[*first].size() - *skip) {
    written -= parts[*first].size() - *skip;
    *skip = 0;
    ++*first;
  }
  *skip += written;
}

class PosixFile final : public File {
 public:
  PosixFile(FileDescriptor fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}

  const std::string& path() const override { return path_; }

  Result<std::size_t> ReadAt(std::uint64_t offset, char* out, std::size_t size_bytes) override {
    std::size_t done = 0;
    while (done < size_bytes) {
      const ssize_t got = Retry([&] {
        return ::pread(fd_.get(), out + done, size_bytes - done, static_cast<off_t>(offset + done));
      });
      if (got < 0) return FailErrno("read", path_, offset + done, errno);
      if (got == 0) break;
      done += static_cast<std::size_t>(got);
    }
    return done;
  }

  Result<void> WriteAt(std::uint64_t offset, std::span<const std::string_view> parts) override {
    constexpr std::size_t kPartsAtOnce = 256;  // out of IOV_MAX 1024: 4 KiB of stack
    static_assert(kPartsAtOnce <= IOV_MAX);
    std::array<iovec, kPartsAtOnce> vectors;
    std::size_t first = 0;
    std::size_t skip = 0;
    Advance(parts, 0, &first, &skip);
    while (first < parts.size()) {
      int count = 0;
      for (std::size_t i = first; i < parts.size() && count < static_cast<int>(kPartsAtOnce); ++i) {
        const std::string_view part = i == first ? parts[i].substr(skip) : parts[i];
        if (part.empty()) continue;
        vectors[static_cast<std::size_t>(count++)] = {const_cast<char*>(part.data()), part.size()};
      }
      const ssize_t written = Retry(
          [&] { return ::pwritev(fd_.get(), vectors.data(), count, static_cast<off_t>(offset)); });
      if (written < 0) return FailErrno("write", path_, offset, errno);
      if (written == 0) return FailErrno("write", path_, offset, EIO);
      offset += static_cast<std::uint64_t>(written);
      Advance(parts, static_cast<std::size_t>(written), &first, &skip);
    }
    return {};
  }

  Result<void> Sync() override {
    if (Retry([&] { return ::fdatasync(fd_.get()); }) != 0) {
      return FailErrno("fdatasync", path_, errno);
    }
    return {};
  }

  Result<void> Truncate(std::uint64_t size_bytes) override {
    if (Retry([&] { return ::ftruncate(fd_.get(), static_cast<off_t>(size_bytes)); }) != 0) {
      return FailErrno("truncate", path_, size_bytes, errno);
    }
    return {};
  }

  Result<void> Allocate(std::uint64_t size_bytes) override {
    if (size_bytes == 0) return {};
    const int result =
        Retry([&] { return ::fallocate(fd_.get(), 0, 0, static_cast<off_t>(size_bytes)); });
    if (result == 0) return {};
    if (errno != EOPNOTSUPP && errno != ENOSYS) {
      return FailErrno("allocate", path_, size_bytes, errno);
    }
    return FillWithZeros(size_bytes);
  }

  Result<std::uint64_t> Size() override {
    struct stat status = {};
    if (::fstat(fd_.get(), &status) != 0) return FailErrno("stat", path_, errno);
    return static_cast<std::uint64_t>(status.st_size);
  }

 private:
  // For file systems without fallocate.
  Result<void> FillWithZeros(std::uint64_t size_bytes) {
    KV_TRY(std::uint64_t offset, Size());
    const std::string zeros(std::size_t{1} << 16, '\0');
    while (offset < size_bytes) {
      const std::array<std::string_view, 1> part = {std::string_view(zeros).substr(
          0, std::min<std::uint64_t>(zeros.size(), size_bytes - offset))};
      KV_RETURN_IF_ERROR(WriteAt(offset, part));
      offset += part[0].size();
    }
    return {};
  }

  FileDescriptor fd_;
  std::string path_;
};

// Both names are of one file.
bool AreOneFile(const std::string& one, const std::string& other) {
  struct stat first = {};
  struct stat second = {};
  return ::lstat(one.c_str(), &first) == 0 && ::lstat(other.c_str(), &second) == 0 &&
         first.st_dev == second.st_dev && first.st_ino == second.st_ino;
}

// For file systems that cannot rename in this way, NFS for one. The answer to a link that was made
// may be lost there, and a second try then finds the name taken, by the same file.
int LinkAndRemove(const std::string& from, const std::string& to) {
  if (::link(from.c_str(), to.c_str()) != 0) {
    const int error = errno;
    if (!AreOneFile(from, to)) {
      errno = error;
      return -1;
    }
  }
  return ::unlink(from.c_str());
}

bool IsNameOf(const std::string& path, int fd) {
  struct stat named = {};
  struct stat opened = {};
  return ::stat(path.c_str(), &named) == 0 && ::fstat(fd, &opened) == 0 &&
         named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

// A file that may only be read is there already, and can be locked all the same.
int OpenToLock(const std::string& path, int more_flags) {
  const auto open = [&](int flags) {
    flags |= more_flags | O_CLOEXEC | O_NONBLOCK;
    return Retry([&] { return ::open(path.c_str(), flags, kFileMode); });
  };
  const int fd = open(O_RDWR | O_CREAT);
  if (fd >= 0 || (errno != EACCES && errno != EROFS)) return fd;
  const int why = errno;
  const int readable = open(O_RDONLY);
  if (readable < 0) errno = why;
  return readable;
}

// Some network file systems give an exclusive lock only to those who may write; the other kind
// keeps these out as well.
int TakeLock(int fd) {
  const int exclusive = Retry([&] { return ::flock(fd, LOCK_EX | LOCK_NB); });
  if (exclusive == 0 || errno != EBADF) return exclusive;
  return Retry([&] { return ::flock(fd, LOCK_SH | LOCK_NB); });
}

class PosixFileLock final : public FileLock {
 public:
  explicit PosixFileLock(FileDescriptor fd) : fd_(std::move(fd)) {}

 private:
  FileDescriptor fd_;  // the lock ends with the last descriptor of this open
};

enum class Believes : std::uint8_t { kAll, kOwnOnly, kTrusted };

class MachineFileSystem final : public FileSystem {
 public:
  explicit MachineFileSystem(Believes believes) : believes_(believes) {}

  Result<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override {
    // A named pipe would wait for somebody at its other end.
    int flags = link_flags() | O_CLOEXEC | O_NONBLOCK;
    switch (mode) {
      case OpenMode::kRead:
        flags |= O_RDONLY;
        break;
      case OpenMode::kReadWrite:
        flags |= O_RDWR;
        break;
      case OpenMode::kCreate:
        flags |= O_RDWR | O_CREAT | O_EXCL;
        break;
    }
    FileDescriptor fd(Retry([&] { return ::open(path.c_str(), flags, kFileMode); }));
    if (fd.get() < 0) return FailOpen(path, errno);
    KV_RETURN_IF_ERROR(CheckBelieved(fd.get(), path));
    struct stat status = {};
    if (::fstat(fd.get(), &status) != 0) return FailErrno("stat", path, errno);
    if (S_ISDIR(status.st_mode)) return FailErrno("open", path, EISDIR);
    if (!S_ISREG(status.st_mode)) {
      return Fail(Code::kInvalidArgument, "open " + path + ": it is a " +
                                              (S_ISFIFO(status.st_mode) ? "named pipe" : "device") +
                                              ", not a file");
    }
    return std::make_unique<PosixFile>(std::move(fd), path);
  }

  Result<bool> Exists(const std::string& path) override {
    struct stat status = {};
    if (::stat(path.c_str(), &status) == 0) return true;
    if (errno == ENOENT || errno == ENOTDIR) return false;
    return FailErrno("stat", path, errno);
  }

  Result<Status> Look(const std::string& path) override {
    struct stat status = {};
    if (::lstat(path.c_str(), &status) != 0) return FailErrno("stat", path, errno);
    if (S_ISDIR(status.st_mode)) return Status{.kind = Status::Kind::kFolder};
    if (!S_ISREG(status.st_mode)) return Status{.kind = Status::Kind::kOther};
    return Status{.kind = Status::Kind::kFile,
                  .size_bytes = static_cast<std::uint64_t>(status.st_size)};
  }

  Result<std::vector<std::string>> List(const std::string& dir) override {
    const std::unique_ptr<DIR, int (*)(DIR*)> stream(::opendir(dir.c_str()), &::closedir);
    if (stream == nullptr) return FailErrno("list", dir, errno);
    if (believes_ == Believes::kTrusted)
      KV_RETURN_IF_ERROR(CheckTrusted(::dirfd(stream.get()), dir));
    std::vector<std::string> names;
    while (true) {
      errno = 0;
      const dirent* entry = ::readdir(stream.get());
      if (entry == nullptr) break;
      const std::string_view name = entry->d_name;
      if (name != "." && name != "..") names.emplace_back(name);
    }
    if (errno != 0) return FailErrno("list", dir, errno);
    std::ranges::sort(names);
    return names;
  }

  Result<void> MakeDirectories(const std::string& dir) override {
    for (std::size_t end = 0; end != std::string::npos;) {
      end = dir.find('/', end + 1);
      const std::string part = dir.substr(0, end);
      if (::mkdir(part.c_str(), kDirectoryMode) == 0) continue;
      const int error = errno;
      struct stat status = {};
      if (::stat(part.c_str(), &status) != 0) return FailErrno("make folder", part, error);
      if (!S_ISDIR(status.st_mode)) return FailErrno("make folder", part, ENOTDIR);
    }
    return {};
  }

  Result<void> Rename(const std::string& from, const std::string& to) override {
    if (::rename(from.c_str(), to.c_str()) != 0) {
      return FailErrno("rename", from + " to " + to, errno);
    }
    return {};
  }

  Result<void> RenameIfAbsent(const std::string& from, const std::string& to) override {
    int result = ::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE);
    if (result != 0 && (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP)) {
      result = LinkAndRemove(from, to);
    }
    if (result != 0) return FailErrno("rename", from + " to " + to, errno);
    return {};
  }

  Result<void> Remove(const std::string& path) override {
    if (::remove(path.c_str()) != 0) return FailErrno("remove", path, errno);
    return {};
  }

  Result<void> SyncDirectory(const std::string& dir) override {
    const FileDescriptor fd(
        Retry([&] { return ::open(dir.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); }));
    if (fd.get() < 0) return FailErrno("open folder", dir, errno);
    if (Retry([&] { return ::fsync(fd.get()); }) != 0) return FailErrno("fsync", dir, errno);
    return {};
  }

  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    while (true) {
      FileDescriptor fd(OpenToLock(path, link_flags()));
      if (fd.get() < 0) return FailOpen(path, errno);
      KV_RETURN_IF_ERROR(CheckBelieved(fd.get(), path));
      if (TakeLock(fd.get()) != 0) {
        if (errno == EWOULDBLOCK) return Fail(Code::kFailedPrecondition, LockedText(path));
        return FailErrno("lock", path, errno);
      }
      // The last holder may have removed or replaced the file since it was opened; a process that
      // opens that name now locks another file.
      if (IsNameOf(path, fd.get())) return std::make_unique<PosixFileLock>(std::move(fd));
    }
  }

  Result<std::uint64_t> FreeSpace(const std::string& path) override {
    struct statvfs status = {};
    if (Retry([&] { return ::statvfs(path.c_str(), &status); }) != 0) {
      return FailErrno("stat file system of", path, errno);
    }
    return static_cast<std::uint64_t>(status.f_bavail) * status.f_frsize;
  }

 private:
  int link_flags() const { return believes_ == Believes::kOwnOnly ? O_NOFOLLOW : 0; }
  Result<void> CheckBelieved(int fd, const std::string& path) const {
    switch (believes_) {
      case Believes::kAll:
        return {};
      case Believes::kOwnOnly:
        return CheckOwnFile(fd, path);
      case Believes::kTrusted:
        return CheckTrusted(fd, path);
    }
    return {};
  }
  // In the words of the check, where that was what a link ran into.
  std::unexpected<Error> FailOpen(const std::string& path, int error) const {
    if (believes_ == Believes::kOwnOnly && error == ELOOP)
      return Fail(Code::kFailedPrecondition, path + ": it is a symbolic link");
    return FailErrno("open", path, error);
  }

  const Believes believes_;
};

}  // namespace

FileSystem& PosixFileSystem() {
  static MachineFileSystem file_system(Believes::kAll);
  return file_system;
}

FileSystem& OwnFileSystem() {
  static MachineFileSystem file_system(Believes::kOwnOnly);
  return file_system;
}

FileSystem& TrustedFileSystem() {
  static MachineFileSystem file_system(Believes::kTrusted);
  return file_system;
}

}  // namespace kvorum
