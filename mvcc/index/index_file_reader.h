// Reads a key index from its file (mvcc/index/index_file.h), adds the backend's later records, and
// builds it meanwhile: memory for one block, and for those records, beside the index. The bytes are
// not trusted: any fault in them is an error.
//
// Blocks its thread. Errors: kDataLoss with what is wrong for a file that is damaged, or of another
// state of the backend; kNotFound without one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/index/index_file.h"
#include "mvcc/index/key_index.h"
#include "mvcc/index/key_index_builder.h"

namespace kvorum::mvcc {

// The state of the backend that an index is wanted of.
struct IndexedState {
  std::string marks;  // the meta bucket's
  std::int64_t revision = 0;
  std::int64_t compact_revision = -1;
};

struct LoadedIndex {
  struct Attachment {
    std::string key;
    std::int64_t lease = 0;
  };
  // Published with the state's revisions as its mark, and compacted as far.
  std::unique_ptr<KeyIndex> index;
  // Those of keys that have no later record, in the order of keys.
  std::vector<Attachment> attachments;
  IndexBinding binding;         // the file's
  std::uint64_t revisions = 0;  // in the index
  std::uint64_t later_records = 0;
};

// Returns the backend's records after a revision. Those that a compaction has removed are missing.
using ReadLaterRecords = std::function<Result<SortedRecords>(std::int64_t revision)>;

// Such an index has each record of the backend that a compaction has not dropped. It may have more:
// a key whose deletion came after the file and was dropped too is in it as it was before. So the
// caller compares the number of its revisions with that of the backend's records.
Result<LoadedIndex> ReadIndexFile(FileSystem& files, const std::string& database_path,
                                  const IndexedState& state, const ReadLaterRecords& read_later);

// Reads all of it, for any state of a backend.
Result<IndexBinding> CheckIndexFile(FileSystem& files, const std::string& database_path);

}  // namespace kvorum::mvcc
