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
#include "mvcc/key_index.h"
#include "mvcc/revision.h"

namespace kvorum::mvcc {

class KeyIndexBuilder {
 public:
  // One record of the bucket. For a tombstone, create_revision and version are not looked at. They
  // matter only for the oldest record of a key: the others follow from it.
  struct Record {
    std::string_view key;
    Revision revision;
    std::int64_t create_revision = 0;
    std::int64_t version = 0;
    bool tombstone = false;
  };

  class Chunk;

  KeyIndexBuilder();
  ~KeyIndexBuilder();

  // The chunk of the records that follow those of the chunks made so far. Lives as long as the
  // builder. Not thread-safe; what it returns belongs to one thread at a time.
  Chunk& AddChunk();

  // Joins the chunks; the builder is used up. The index is published with `mark`. kDataLoss if the
  // revisions do not ascend or are not such as a store writes.
  Result<std::unique_ptr<KeyIndex>> Build(IndexMark mark);

 private:
  std::vector<std::unique_ptr<Chunk>> chunks_;
};

class KeyIndexBuilder::Chunk {
 public:
  Chunk();
  ~Chunk();

  // Records in revision order. Copies the key. kDataLoss for a revision that does not ascend or
  // lies outside what a store can have written.
  Result<void> Add(const Record& record);
  // Sorts the chunk; call it on the filling thread, once, as the last thing.
  void Finish();

  std::size_t size() const;

 private:
  friend class KeyIndexBuilder;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::mvcc
