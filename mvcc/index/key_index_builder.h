// Builds a KeyIndex from a scan of the `key` bucket: much faster than putting the records one by
// one, and with full nodes.
//
// The scan is in revision order. It is cut into chunks of consecutive records, which may be filled
// and sorted by different threads, one thread a chunk; Build then merges them. Memory: the finished
// index and 16 bytes a record.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "mvcc/index/key_index.h"
#include "mvcc/records/revision.h"

namespace kvorum::mvcc {

namespace index {
struct RestoredRecord;
}  // namespace index

// Records in the order of keys and, for each key, of revisions. Frees their memory as it goes.
class SortedRecords {
 public:
  SortedRecords();  // none
  SortedRecords(SortedRecords&& other) noexcept;
  SortedRecords& operator=(SortedRecords&& other) noexcept;
  ~SortedRecords();

  // Null behind the last. Valid until the next call of PopFront.
  const index::RestoredRecord* front() const;
  void PopFront();
  // The newest of all; {0, -1} of none.
  Revision newest() const;

 private:
  friend class KeyIndexBuilder;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

class KeyIndexBuilder {
 public:
  // One record of the bucket. create_revision and version are ignored for a tombstone. They matter
  // only for the oldest record of a key: the others follow from it.
  struct Record {
    std::string_view key;
    Revision revision;
    std::int64_t create_revision = 0;
    std::int64_t version = 0;
    bool tombstone = false;
  };

  // kDataLoss for a record that no store can have written.
  static Result<void> Check(const Record& record);

  class Chunk;

  KeyIndexBuilder();
  ~KeyIndexBuilder();

  // Adds the chunk of the records that follow those of earlier chunks. It lives as long as the
  // builder. Not thread-safe; the returned chunk belongs to one thread at a time.
  Chunk& AddChunk();

  // Joins the chunks; the builder is used up. kDataLoss if the revisions do not ascend.
  Result<SortedRecords> Sort();
  // The same, and builds an index of them, published with `mark`.
  Result<std::unique_ptr<KeyIndex>> Build(IndexMark mark);

 private:
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

class KeyIndexBuilder::Chunk {
 public:
  Chunk();
  ~Chunk();

  // Records in revision order. Copies the key. kDataLoss for a revision that does not ascend or
  // that no store can have written.
  Result<void> Add(const Record& record);
  // Sorts the chunk; to be called once on the filling thread, last.
  void Finish();

  std::size_t size() const;

 private:
  friend class KeyIndexBuilder;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::mvcc
