// Writes a key index to its file (mvcc/index/index_file.h), key by key: memory for one block.
//
// On the thread of the index's writer; blocks it for as long as writing and syncing takes.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/index/index_file.h"
#include "mvcc/index/key_index.h"

namespace kvorum::mvcc {

struct IndexFileContent {
  const KeyIndex& index;
  IndexBinding binding;
  // The lease that a key is attached to, 0 for none; null: no key is.
  std::function<std::int64_t(std::string_view key)> lease_of;
};

struct IndexFileSize {
  std::uint64_t bytes = 0;
  std::uint64_t keys = 0;
};

// `go_on` is asked after each block, and ends the work with kCanceled when it returns false. After
// an error there may be an unfinished file; the one under the real name is not there, or whole.
Result<IndexFileSize> WriteIndexFile(FileSystem& files, const std::string& database_path,
                                     const IndexFileContent& content,
                                     const std::function<bool()>& go_on);

}  // namespace kvorum::mvcc
