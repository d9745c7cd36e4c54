// The state that a store's readers and its writer share, and that an installed snapshot replaces as
// a whole: the backend, its write buffer, and the index of both.
#pragma once

#include <memory>

#include "mvcc/index/key_index.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/lmdb/write_buffer.h"

namespace kvorum::mvcc {

// Shared by the store, by read views, and by work that began on it. Its destruction frees an index
// and closes a file, which a reader's thread should not do, so the store keeps a replaced state
// until it is the last owner.
struct StoreState {
  StoreState(std::unique_ptr<Backend> opened, const WriteBuffer::Options& options)
      : backend(std::move(opened)), buffer(options) {}

  const std::unique_ptr<Backend> backend;
  WriteBuffer buffer;
  std::unique_ptr<KeyIndex> index;  // set once it is restored
};

}  // namespace kvorum::mvcc
