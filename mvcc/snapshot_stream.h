// A backend's content on its way to another member: one consistent state as a stream of chunks, the
// same for every kind of backend. mvcc/snapshot_stream.cc has the format.
#pragma once

#include <string_view>

#include "base/error.h"
#include "base/shared_bytes.h"

namespace kvorum::mvcc {

// Used by one thread at a time. Holds a reader of the backend until it is destroyed.
class SnapshotSource {
 public:
  virtual ~SnapshotSource() = default;
  // The next chunk, of at most 1 MiB or one record; empty at the end. kDataLoss if a record is
  // damaged.
  virtual Result<SharedBytes> Next() = 0;
};

// Used by one thread at a time. Dropped before Finish, it leaves nothing behind.
class SnapshotSink {
 public:
  virtual ~SnapshotSink() = default;
  // Bytes of the stream, cut anywhere. kDataLoss if they are not what a source wrote;
  // kResourceExhausted if the disk is full.
  virtual Result<void> Write(std::string_view bytes) = 0;
  // The stream has ended: checks that it is whole and makes it durable.
  virtual Result<void> Finish() = 0;
};

}  // namespace kvorum::mvcc
