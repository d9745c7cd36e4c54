// Writes a key index to its file (mvcc/index/index_file.h), block by block: memory for one.
//
// Used by one thread at a time, which it blocks for as long as writing and syncing takes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/index/entry_walk.h"
#include "mvcc/index/index_file.h"
#include "mvcc/index/index_view.h"

namespace kvorum::mvcc {

struct IndexFileContent {
  IndexView view;  // its owner outlives the writer
  IndexBinding binding;
  // The lease that a key is attached to, 0 for none; null: no key is. Asked in the order of keys.
  std::function<std::int64_t(std::string_view key)> lease_of;
};

struct IndexFileSize {
  std::uint64_t bytes = 0;
  std::uint64_t keys = 0;
  std::uint64_t revisions = 0;
};

// Open, WriteBlock until it returns false, Finish. After an error, or without Finish, there may be
// an unfinished file; the one under the real name is whole, or not there.
class IndexFileWriter {
 public:
  // Writes to `unfinished`; a file of that name goes.
  static Result<IndexFileWriter> Open(FileSystem& files, const std::string& unfinished,
                                      IndexFileContent content);

  // Writes some keys, of at least `least_bytes` unless they are the last. False if none are left.
  Result<bool> WriteBlock(std::size_t least_bytes = index_file::kBlockBytes);
  Result<void> Sync() { return file_->Sync(); }
  std::uint64_t size_bytes() const { return size_.bytes; }
  // Gives it its name, durably, in the place of the one before. The database has its mark.
  Result<IndexFileSize> Finish(const std::string& database_path);

 private:
  IndexFileWriter(FileSystem& files, std::string unfinished, std::unique_ptr<File> file,
                  IndexFileContent content);
  void Add(const index::Entry& entry);

  FileSystem* files_;
  std::string unfinished_;
  std::unique_ptr<File> file_;
  IndexFileContent content_;
  index::EntryWalk walk_;
  std::string block_;
  std::string_view key_before_;  // in the block
  IndexFileSize size_{.bytes = index_file::kHeaderBytes};
};

// All of it at once. `go_on` is asked after each block, and ends the work with kCanceled when it
// returns false.
Result<IndexFileSize> WriteIndexFile(FileSystem& files, const std::string& database_path,
                                     IndexFileContent content, const std::function<bool()>& go_on);

}  // namespace kvorum::mvcc
