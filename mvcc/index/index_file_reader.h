// Reads a key index from its file (mvcc/index/index_file.h) and builds it meanwhile: memory for a
// few blocks beside the index. The bytes are not trusted: any fault in them is an error.
//
// Blocks its thread. Errors: kDataLoss with what is wrong for a file that is damaged, or of another
// state of the backend; kNotFound without one.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/index/index_file.h"
#include "mvcc/index/key_index.h"

namespace kvorum::mvcc {

struct LoadedIndex {
  struct Attachment {
    std::string_view key;  // in the index, until it changes
    std::int64_t lease = 0;
  };
  // Published with the binding's revisions as its mark.
  std::unique_ptr<KeyIndex> index;
  std::vector<Attachment> attachments;  // in the order of keys
};

Result<LoadedIndex> ReadIndexFile(FileSystem& files, const std::string& database_path,
                                  const IndexBinding& expected);

// Reads all of it, for any state of a backend.
Result<IndexBinding> CheckIndexFile(FileSystem& files, const std::string& database_path);

}  // namespace kvorum::mvcc
