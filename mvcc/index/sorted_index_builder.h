// Builds a KeyIndex from its records in the order of keys and, for each key, of revisions.
//
// Used by one thread. The caller knows that the records are in order and such as a store writes
// (KeyIndexBuilder::Check).
#pragma once

#include <memory>

#include "mvcc/index/index_loader.h"
#include "mvcc/index/index_tree.h"
#include "mvcc/index/key_index.h"

namespace kvorum::mvcc {

class SortedIndexBuilder {
 public:
  SortedIndexBuilder();
  ~SortedIndexBuilder();
  SortedIndexBuilder(const SortedIndexBuilder&) = delete;
  SortedIndexBuilder& operator=(const SortedIndexBuilder&) = delete;

  void Add(const index::RestoredRecord& record) {
    if (entry_ != nullptr && entry_->key() == record.key) {
      AddToKey(record);
    } else {
      AddKey(record);
    }
  }
  // The first record of the next key.
  void AddKey(const index::RestoredRecord& record);
  // Another one of the same key. A tombstone after a tombstone adds nothing.
  void AddToKey(const index::RestoredRecord& record);
  // The last key so far. It moves with the next record of the key, and then stays.
  const index::Entry* last() const { return entry_; }

  // The builder is used up. `newest` is the newest revision of all records. The index is not
  // published, so that its first changes need no copies.
  std::unique_ptr<KeyIndex> Finish(Revision newest);
  // The same, published with `mark`.
  std::unique_ptr<KeyIndex> Build(Revision newest, IndexMark mark);

 private:
  std::unique_ptr<KeyIndex> result_;
  index::Loader loader_;
  index::Entry* entry_ = nullptr;
};

}  // namespace kvorum::mvcc
