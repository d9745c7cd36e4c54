// A file system that lets a test act between the listing of a folder and the use of that list.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/file_system.h"

namespace kvorum::wal {

class ListedFileSystem final : public FileSystem {
 public:
  explicit ListedFileSystem(FileSystem& files) : files_(files) {}

  // Runs once.
  void AfterNextList(std::function<void()> act) { act_ = std::move(act); }
  bool has_told() const { return act_ == nullptr; }

  Result<std::vector<std::string>> List(const std::string& dir) override {
    auto names = files_.List(dir);
    if (const auto act = std::exchange(act_, nullptr)) act();
    return names;
  }
  Result<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override {
    return files_.Open(path, mode);
  }
  Result<Status> Look(const std::string& path) override { return files_.Look(path); }
  Result<bool> Exists(const std::string& path) override { return files_.Exists(path); }
  Result<void> MakeDirectories(const std::string& dir) override {
    return files_.MakeDirectories(dir);
  }
  Result<void> Rename(const std::string& from, const std::string& to) override {
    return files_.Rename(from, to);
  }
  Result<void> RenameIfAbsent(const std::string& from, const std::string& to) override {
    return files_.RenameIfAbsent(from, to);
  }
  Result<void> Remove(const std::string& path) override { return files_.Remove(path); }
  Result<void> SyncDirectory(const std::string& dir) override { return files_.SyncDirectory(dir); }
  Result<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    return files_.Lock(path);
  }
  Result<std::uint64_t> FreeSpace(const std::string& path) override {
    return files_.FreeSpace(path);
  }

 private:
  FileSystem& files_;
  std::function<void()> act_;
};

}  // namespace kvorum::wal
