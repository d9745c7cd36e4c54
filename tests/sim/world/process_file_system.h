// A machine's disk as one process sees it: when the process is dead, nothing that its remains still
// do (destructors that tidy up, for one) reaches the disk any more.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tests/disk/sim_file_system.h"

namespace kvorum::sim {

class ProcessFileSystem final : public FileSystem {
 public:
  explicit ProcessFileSystem(SimFileSystem& disk) : disk_(disk) {}

  // The process ends. Its open files die with SimFileSystem::Kill or Crash.
  void Die() { dead_ = true; }

  Result<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override {
    if (dead_) return Dead();
    return disk_.Open(path, mode);
  }
  Result<bool> Exists(const std::string& path) override {
    if (dead_) return Dead();
    return disk_.Exists(path);
  }
  Result<Status> Look(const std::string& path) override {
    if (dead_) return Dead();
    return disk_.Look(path);
  }
  Result<std::vector<std::string>> List(const std::string& dir) override {
    if (dead_) return Dead();
    return disk_.List(dir);
  }
  Result<void> MakeDirectories(const std::string& dir) override {
    if (dead_) return Dead();
    return disk_.MakeDirectories(dir);
  }
  Result<void> Rename(const std::string& from, const std::string& to) override {
    if (dead_) return Dead();
    return disk_.Rename(from, to);
  }
  Result<void> RenameIfAbsent(const std::string& from, const std::string& to) override {
    if (dead_) return Dead();
    return disk_.RenameIfAbsent(from, to);
  }
  Result<void> Remove(const std::string& path) override {
    if (dead_) return Dead();
    return disk_.Remove(path);
  }
  Result<void> SyncDirectory(const std::string& dir) override {
    if (dead_) return Dead();
    return disk_.SyncDirectory(dir);
  }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    if (dead_) return Dead();
    return disk_.Lock(path);
  }
  Result<std::uint64_t> FreeSpace(const std::string& path) override {
    if (dead_) return Dead();
    return disk_.FreeSpace(path);
  }

 private:
  static std::unexpected<Error> Dead() {
    return Fail(Code::kUnavailable, "this process has ended");
  }

  SimFileSystem& disk_;
  bool dead_ = false;
};

}  // namespace kvorum::sim
