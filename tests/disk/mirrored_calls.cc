#include "tests/disk/mirrored_calls.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdarg>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/check.h"

namespace kvorum {
namespace {

struct Descriptor {
  std::string path;
  std::unique_ptr<File> file;  // nullptr: a directory
  bool writes_through = false;
};

struct Mirror {
  SimFileSystem& disk;
  std::string folder;
  std::map<int, Descriptor> descriptors;

  bool Has(const char* path) const {
    return path == folder || std::string_view(path).starts_with(folder + "/");
  }
  Descriptor* Find(int fd) {
    const auto found = descriptors.find(fd);
    return found == descriptors.end() ? nullptr : &found->second;
  }
};

std::optional<Mirror>& Current() {
  static std::optional<Mirror> current;
  return current;
}

// The C library's function that ours wraps.
template <class Function>
Function* Real(const char* name) {
  void* const symbol = dlsym(RTLD_NEXT, name);
  KV_CHECK(symbol != nullptr, "the C library lacks a function");
  return reinterpret_cast<Function*>(symbol);
}

void Done(const Result<void>& result) {
  KV_CHECK(result.has_value(), "the simulated disk does what the real one is asked to");
}
template <class T>
T Done(Result<T> result) {
  KV_CHECK(result.has_value(), "the simulated disk does what the real one is asked to");
  return *std::move(result);
}

void MirrorOpen(const char* path, int flags, int fd, bool was_there) {
  Mirror& mirror = *Current();
  Descriptor opened{.path = path, .file = nullptr, .writes_through = (flags & O_DSYNC) != 0};
  if ((flags & O_DIRECTORY) == 0) {
    const auto mode = was_there ? FileSystem::OpenMode::kReadWrite : FileSystem::OpenMode::kCreate;
    opened.file = Done(mirror.disk.Open(path, mode));
    if (was_there && (flags & O_TRUNC) != 0) Done(opened.file->Truncate(0));
  }
  mirror.descriptors.insert_or_assign(fd, std::move(opened));
}

void MirrorWrite(int fd, const iovec* parts, int count, off_t offset) {
  if (!Current().has_value()) return;
  Mirror& mirror = *Current();
  Descriptor* const written = mirror.Find(fd);
  if (written == nullptr) return;
  std::vector<std::string_view> views;
  std::size_t size_bytes = 0;
  for (const iovec& part : std::span(parts, static_cast<std::size_t>(count))) {
    views.emplace_back(static_cast<const char*>(part.iov_base), part.iov_len);
    size_bytes += part.iov_len;
  }
  const auto at = static_cast<std::uint64_t>(offset);
  Done(written->file->WriteAt(at, views));
  if (written->writes_through) Done(mirror.disk.SyncRange(*written->file, at, size_bytes));
}

void MirrorSync(int fd) {
  if (!Current().has_value()) return;
  const Descriptor* const synced = Current()->Find(fd);
  if (synced == nullptr) return;
  if (synced->file != nullptr) {
    Done(synced->file->Sync());
  } else {
    Done(Current()->disk.SyncDirectory(synced->path));
  }
}

void MirrorRemove(const char* path) {
  if (!Current().has_value() || !Current()->Has(path)) return;
  if (Done(Current()->disk.Exists(path))) Done(Current()->disk.Remove(path));
}

void MirrorAllocate(int fd, off_t end) {
  if (!Current().has_value()) return;
  if (Descriptor* const grown = Current()->Find(fd))
    Done(grown->file->Allocate(static_cast<std::uint64_t>(end)));
}

}  // namespace

MirroredCalls::MirroredCalls(SimFileSystem& disk, std::string folder) {
  KV_CHECK(!Current().has_value(), "calls are mirrored by one at a time");
  Done(disk.MakeDirectories(folder));
  for (std::string dir = folder; dir != "/"; dir = ParentDirectory(dir))
    Done(disk.SyncDirectory(ParentDirectory(dir)));
  Current().emplace(disk, std::move(folder));
}

MirroredCalls::~MirroredCalls() { Current().reset(); }

}  // namespace kvorum

// ---- in front of the C library ----

using kvorum::Current;
using kvorum::MirrorAllocate;
using kvorum::MirrorOpen;
using kvorum::MirrorRemove;
using kvorum::MirrorSync;
using kvorum::MirrorWrite;
using kvorum::Real;

extern "C" {

int open(const char* path, int flags, ...) {
  mode_t mode = 0;
  if ((flags & O_CREAT) != 0) {
    va_list arguments;
    va_start(arguments, flags);
    mode = va_arg(arguments, mode_t);
    va_end(arguments);
  }
  static auto* const real = Real<int(const char*, int, ...)>("open");
  const int without_sync = flags & ~(O_SYNC | O_DSYNC);
  if (!Current().has_value() || !Current()->Has(path)) return real(path, without_sync, mode);
  const bool was_there = access(path, F_OK) == 0;
  const int fd = real(path, without_sync, mode);
  if (fd >= 0) MirrorOpen(path, flags, fd, was_there);
  return fd;
}

int close(int fd) {
  static auto* const real = Real<int(int)>("close");
  if (Current().has_value()) Current()->descriptors.erase(fd);
  return real(fd);
}

ssize_t pwrite(int fd, const void* bytes, std::size_t count, off_t offset) {
  static auto* const real = Real<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  const iovec part{const_cast<void*>(bytes), count};
  MirrorWrite(fd, &part, 1, offset);
  return real(fd, bytes, count, offset);
}

ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  static auto* const real = Real<ssize_t(int, const iovec*, int, off_t)>("pwritev");
  MirrorWrite(fd, parts, count, offset);
  return real(fd, parts, count, offset);
}

ssize_t write(int fd, const void* bytes, std::size_t count) {
  static auto* const real = Real<ssize_t(int, const void*, std::size_t)>("write");
  const iovec part{const_cast<void*>(bytes), count};
  MirrorWrite(fd, &part, 1, lseek(fd, 0, SEEK_CUR));
  return real(fd, bytes, count);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  static auto* const real = Real<ssize_t(int, const iovec*, int)>("writev");
  MirrorWrite(fd, parts, count, lseek(fd, 0, SEEK_CUR));
  return real(fd, parts, count);
}

int fdatasync(int fd) {
  MirrorSync(fd);
  return 0;
}

int fsync(int fd) {
  MirrorSync(fd);
  return 0;
}

int ftruncate(int fd, off_t size) noexcept {
  static auto* const real = Real<int(int, off_t)>("ftruncate");
  if (Current().has_value()) {
    if (auto* const cut = Current()->Find(fd))
      kvorum::Done(cut->file->Truncate(static_cast<std::uint64_t>(size)));
  }
  return real(fd, size);
}

int fallocate(int fd, int mode, off_t offset, off_t size) {
  static auto* const real = Real<int(int, int, off_t, off_t)>("fallocate");
  MirrorAllocate(fd, offset + size);
  return real(fd, mode, offset, size);
}

int posix_fallocate(int fd, off_t offset, off_t size) {
  static auto* const real = Real<int(int, off_t, off_t)>("posix_fallocate");
  MirrorAllocate(fd, offset + size);
  return real(fd, offset, size);
}

int mkdir(const char* path, mode_t mode) noexcept {
  static auto* const real = Real<int(const char*, mode_t)>("mkdir");
  if (Current().has_value() && Current()->Has(path))
    kvorum::Done(Current()->disk.MakeDirectories(path));
  return real(path, mode);
}

int rename(const char* from, const char* to) noexcept {
  static auto* const real = Real<int(const char*, const char*)>("rename");
  if (Current().has_value() && Current()->Has(from)) kvorum::Done(Current()->disk.Rename(from, to));
  return real(from, to);
}

int unlink(const char* path) noexcept {
  static auto* const real = Real<int(const char*)>("unlink");
  MirrorRemove(path);
  return real(path);
}

int remove(const char* path) noexcept {
  static auto* const real = Real<int(const char*)>("remove");
  MirrorRemove(path);
  return real(path);
}

}  // extern "C"
