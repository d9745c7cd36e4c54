// Files, behind an interface: the machine's own, or an in-memory one that loses, tears and refuses
// writes on demand (tests/disk/sim_file_system.h). The WAL, the snapshots and the data directory
// reach the disk through it alone.
//
// Durability, in POSIX terms: a file's bytes and size are durable after its Sync returned ok; a
// name (created, renamed or removed) after SyncDirectory of its directory returned ok. Nothing else
// survives a power cut.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvorum {

// An open file. Used by one thread at a time; it stays usable, under its old path(), when its name
// is renamed or removed. Errors name the path, the offset and the errno's text; their code is
// kResourceExhausted for a full disk (ENOSPC, EDQUOT, EFBIG), kDataLoss for EIO, kNotFound,
// kAlreadyExists, kPermissionDenied (EACCES, EPERM, EROFS), else kUnknown.
class File {
 public:
  virtual ~File() = default;
  virtual const std::string& path() const = 0;
  // Reads up to size_bytes at the offset; fewer only at the end of the file.
  virtual Result<std::size_t> ReadAt(std::uint64_t offset, char* out, std::size_t size_bytes) = 0;
  // Writes all parts one after another at the offset (one pwritev where possible); the file grows
  // as needed.
  virtual Result<void> WriteAt(std::uint64_t offset, std::span<const std::string_view> parts) = 0;
  // fdatasync. An error is final: data written since the last Sync may be lost, and a retry may
  // falsely succeed.
  virtual Result<void> Sync() = 0;
  virtual Result<void> Truncate(std::uint64_t size_bytes) = 0;
  // Reserves space for size_bytes and grows the file to that size; the new part reads as zeros, the
  // existing part is unchanged. Writes into the space cannot fail for a full disk, except on
  // copy-on-write file systems.
  virtual Result<void> Allocate(std::uint64_t size_bytes) = 0;
  virtual Result<std::uint64_t> Size() = 0;
};

// The lock is held while the object exists.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

// Thread-safe.
class FileSystem {
 public:
  virtual ~FileSystem() = default;
  enum class OpenMode : std::uint8_t {
    kRead,       // must exist
    kReadWrite,  // must exist
    kCreate,     // must not exist; mode 0600
  };
  // Does not block: kInvalidArgument for a named pipe or a device.
  virtual Result<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) = 0;
  virtual Result<bool> Exists(const std::string& path) = 0;
  // The file or folder of this name itself: a symbolic link is not followed. kNotFound without one.
  struct Status {
    enum class Kind : std::uint8_t { kFile, kFolder, kOther };
    Kind kind = Kind::kFile;
    std::uint64_t size_bytes = 0;  // of a file
  };
  virtual Result<Status> Look(const std::string& path) = 0;
  // Names (not paths) in the directory, sorted.
  virtual Result<std::vector<std::string>> List(const std::string& dir) = 0;
  // Creates the directory and its missing parents with mode 0700. An existing directory is fine.
  virtual Result<void> MakeDirectories(const std::string& dir) = 0;
  // Atomic; replaces a file of the new name.
  virtual Result<void> Rename(const std::string& from, const std::string& to) = 0;
  // For files. Atomic, between machines that share the file system as well; kAlreadyExists if
  // something has the new name.
  virtual Result<void> RenameIfAbsent(const std::string& from, const std::string& to) = 0;
  // Removes a file or an empty directory.
  virtual Result<void> Remove(const std::string& path) = 0;
  virtual Result<void> SyncDirectory(const std::string& dir) = 0;
  // Takes an exclusive lock on a file, which is created if missing. kFailedPrecondition when
  // another holder has it, in this process or another. The lock ends with its holder's process. A
  // file that is there need not be writable.
  virtual Result<std::unique_ptr<FileLock>> Lock(const std::string& path) = 0;
  // The free bytes available to us on the file system that holds the path.
  virtual Result<std::uint64_t> FreeSpace(const std::string& path) = 0;
};

FileSystem& PosixFileSystem();

// The text of a refused Lock, the same for every file system.
inline std::string LockedText(const std::string& path) {
  return "lock " + path + ": held by another process";
}
// "a/b" for "a/b/c", "." for "a", "/" for "/a".
std::string ParentDirectory(const std::string& path);

// The whole content of a file; refuses one larger than limit_bytes.
Result<std::string> ReadWholeFile(FileSystem& fs, const std::string& path,
                                  std::uint64_t limit_bytes);
// Writes path.tmp, syncs it, renames it to path and syncs the directory: after a crash the file has
// the old or the new content.
Result<void> WriteFileAtomically(FileSystem& fs, const std::string& path, std::string_view content);

}  // namespace kvorum
