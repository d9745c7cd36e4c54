// An in-memory disk that loses, tears, refuses and rots data on demand, for tests and the
// simulation.
//
// FAULT MODEL. A power cut (Crash, CrashImage) may leave the following:
// - A file's bytes are durable by sectors of 512 bytes, and a sector is never torn. A sector that
//   was written since the file's last Sync holds its content at that Sync, or any version written
//   since, independently of its neighbours: writes are lost, torn at sectors, and reordered. With
//   kGarbage, a sector of which nothing but zeros was durable may hold random bytes as well.
// - A file's size is durable by Sync; otherwise it is the old one or any it has had since.
// - A name (created, renamed, removed; a directory's too) is durable by SyncDirectory of its
//   directory. Of the changes since, any may be lost, each independently; a rename is whole or not
//   at all. Syncing a file does not make its name durable. (The names in a renamed directory become
//   durable with it.)
// - Locks and open files are gone; using one afterwards gives kUnavailable for ever.
// A killed process (Kill) loses only locks and open files; unsynced data stays unsynced.
// A Sync that fails (FailAt, FailPath) leaves the data it should have written neither durable nor
// pending: later Syncs succeed and do not write it, as kernels do. Reads still show it until a
// crash.
// A full disk (SetCapacity) refuses writes that would grow a file; a write that does not fit whole
// writes the part that does. Reserved space (Allocate) counts as used, and writes into it succeed.
// Corrupt changes durable and current bytes alike, as bit rot does.
// Each format defines which of this it survives: for example wal/format.h.
//
// Thread-safe, by one lock; must outlive its open files and locks. Deterministic: the same calls
// with the same Rng give the same disk.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "base/rng.h"

namespace kvorum {

class SimFileSystem final : public FileSystem {
 public:
  static constexpr std::size_t kSectorBytes = 512;

  SimFileSystem();
  ~SimFileSystem() override;

  Result<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override;
  Result<bool> Exists(const std::string& path) override;
  Result<Status> Look(const std::string& path) override;
  Result<std::vector<std::string>> List(const std::string& dir) override;
  Result<void> MakeDirectories(const std::string& dir) override;
  Result<void> Rename(const std::string& from, const std::string& to) override;
  Result<void> RenameIfAbsent(const std::string& from, const std::string& to) override;
  Result<void> Remove(const std::string& path) override;
  Result<void> SyncDirectory(const std::string& dir) override;
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override;
  Result<std::uint64_t> FreeSpace(const std::string& path) override;

  // Makes the sectors of these bytes durable, and the size; nothing else of the file. WriteAt and
  // this are a write through a descriptor of O_DSYNC. The file is one of this disk's.
  Result<void> SyncRange(File& file, std::uint64_t offset, std::uint64_t size_bytes);

  // --- crashes ---------------------------------------------------------------------------------

  // The fate of data that was not durable.
  enum class Keep : std::uint8_t { kNothing, kAll, kRandom, kGarbage };
  static constexpr std::array kAllKeeps = {Keep::kNothing, Keep::kAll, Keep::kRandom,
                                           Keep::kGarbage};

  // The disk as a power cut at this moment would leave it, as a separate file system without
  // injected faults.
  std::unique_ptr<SimFileSystem> CrashImage(Keep keep, Rng& rng) const;
  // The same to this disk; the power is on again. Injected faults stay.
  void Crash(Keep keep, Rng& rng);
  // The process ends: open files and locks are gone, the disk is unchanged.
  void Kill();
  // Power goes off at the nth (from 1) write operation from now on: that one is done but not
  // durable, or not done if it is a sync, and it and all later calls fail until Crash.
  // Write operations: creating a file, WriteAt, Truncate, Allocate, Sync, Rename, Remove,
  // SyncDirectory, and each folder made.
  void PowerOffAt(std::uint64_t nth_operation);
  // Write operations so far.
  std::uint64_t operations() const;
  // Called before each write operation, without the lock: the moment to take a CrashImage.
  void SetObserver(std::function<void()> observer);

  // --- injected errors -------------------------------------------------------------------------

  enum class Operation : std::uint8_t { kOpen, kRead, kWrite, kSync, kAllocate, kRename, kRemove };
  enum class Fault : std::uint8_t { kIoError, kNoSpace };  // EIO: kDataLoss; ENOSPC
  // The nth write operation from now on fails once.
  void FailAt(std::uint64_t nth_operation, Fault fault);
  // Every operation of the kind on a path that contains the text fails, until ClearFaults.
  void FailPath(Operation operation, std::string path_part, Fault fault);
  void ClearFaults();
  // Syncs of the paths for which it returns true do nothing and succeed: those that a program has
  // left out. A canary of a crash test shows by them that it would find the loss.
  void LeaveOutSyncs(std::function<bool(const std::string& path)> of_path);
  // Bytes that all files may have together; nullopt for no limit.
  void SetCapacity(std::optional<std::uint64_t> size_bytes);
  // Flips the bits of the mask in one byte of a file. False if the file is shorter.
  bool Corrupt(const std::string& path, std::uint64_t offset, std::uint8_t mask);

  // The number of times that each fault had an effect, so that a test can prove that it tested
  // something.
  struct Counters {
    std::uint64_t crashes = 0;
    std::uint64_t sectors_lost = 0;  // an older version than the last survived
    std::uint64_t sectors_garbage = 0;
    std::uint64_t sizes_lost = 0;
    std::uint64_t name_changes_lost = 0;
    std::uint64_t power_cuts = 0;  // PowerOffAt that came about
    std::uint64_t io_errors = 0;
    std::uint64_t no_space_errors = 0;
    std::uint64_t corrupted_bytes = 0;
  };
  Counters counters() const;

 private:
  class SimFile;
  class SimLock;
  struct Inode;
  struct NameChange;
  using InodePtr = std::shared_ptr<Inode>;
  using Entries = std::map<std::string, InodePtr>;  // full path -> file or folder

  struct InjectedPathFault {
    Operation operation;
    std::string path_part;
    Fault fault;
  };

  Result<void> BeginWrite(Operation operation, const std::string& path);
  Result<void> CheckPower() const;
  Result<void> CheckPathFault(Operation operation, const std::string& path);
  std::unexpected<Error> Inject(Fault fault, const std::string& path);
  Result<InodePtr> Find(const std::string& path) const;
  Result<void> RequireFolder(const std::string& dir) const;
  std::uint64_t UsedBytes() const;
  void Change(NameChange change);
  Result<void> RenameLocked(const std::string& from, const std::string& to);
  void CrashLocked(Keep keep, Rng& rng);

  // For SimFile, under the lock.
  Result<std::size_t> ReadAt(SimFile& file, std::uint64_t offset, char* out, std::size_t size);
  Result<void> WriteAt(SimFile& file, std::uint64_t offset,
                       std::span<const std::string_view> parts);
  Result<void> Sync(SimFile& file);
  Result<void> Resize(SimFile& file, std::uint64_t size_bytes, bool allocate);
  Result<std::uint64_t> Size(SimFile& file);

  mutable std::mutex mutex_;
  Entries current_;
  Entries durable_;
  std::vector<NameChange> pending_names_;
  std::uint64_t process_ = 1;  // open files and locks of an earlier one are dead
  bool powered_on_ = true;
  std::uint64_t operations_ = 0;
  std::optional<std::uint64_t> power_off_at_;
  std::map<std::uint64_t, Fault> fail_at_;
  std::vector<InjectedPathFault> path_faults_;
  std::optional<std::uint64_t> capacity_bytes_;
  std::function<void()> observer_;
  std::function<bool(const std::string& path)> left_out_syncs_;
  Counters counters_;
};

}  // namespace kvorum
