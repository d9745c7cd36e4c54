// Transfers a backend's content to another member: one consistent state as a stream of chunks, the
// same for every kind of backend. Our own members' format is in mvcc/records/snapshot_format.h,
// that of members which are etcd's in mvcc/transfer/etcd_image.h (going out) and
// mvcc/transfer/etcd_sink.h (coming in).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"
#include "base/shared_bytes.h"
#include "mvcc/lmdb/backend.h"

namespace kvorum::mvcc {

enum class SnapshotFormat : std::uint8_t { kOwn, kEtcd };

struct EtcdImageOptions {
  // Takes the place of the backend's own; an empty text leaves it out.
  std::optional<std::string> storage_version = {};
};

// Used by one thread at a time. Holds a reader of the backend until it is destroyed.
class SnapshotSource {
 public:
  virtual ~SnapshotSource() = default;
  // Does a bounded part of what is needed before the first chunk; true once nothing of it is left.
  // Errors like Next's. Next does all that is left itself.
  virtual Result<bool> Prepare() { return true; }
  // The next chunk, of at most 1 MiB or one record; empty at the end. kDataLoss if a record is
  // damaged. kUnavailable if the backend needs the reader's place: start over.
  virtual Result<SharedBytes> Next() = 0;
  // For a holder that waits for its receiver, several times a second: releases the reader and
  // fails, for good, where Next would not go on.
  virtual Result<void> Look() { return {}; }
  // The format of all chunks, called before the first is taken; kOwn without a call. kUnimplemented
  // if the source knows it in another one only.
  virtual Result<void> Use(SnapshotFormat format);
};

// Used by one thread at a time. If it is dropped before Finish, it leaves nothing behind.
class SnapshotSink {
 public:
  virtual ~SnapshotSink() = default;
  // Takes bytes of the stream, cut anywhere. kDataLoss if no source wrote them; kResourceExhausted
  // if the disk is full. Any error is final.
  virtual Result<void> Write(std::string_view bytes) = 0;
  // The stream has ended: checks that it is complete and makes it durable, a part at a time, which
  // reads or writes some MiB; true when all is done.
  virtual Result<bool> FinishPart() = 0;
  // All parts.
  Result<void> Finish();
};

// A source of the state that the reader sees, in either format. `owner` keeps alive what the reader
// needs.
std::unique_ptr<SnapshotSource> MakeSnapshotSource(Reader reader, std::shared_ptr<const void> owner,
                                                   EtcdImageOptions image = {});

// Opens the backend at a path, or creates one there.
using BackendOpener = std::function<Result<std::unique_ptr<Backend>>(const std::string& path)>;

struct SnapshotSinkOptions {
  BackendOpener open;
  std::string path;  // of the finished file
  // Checks the whole content before it gets its name; an error refuses it. May be empty.
  std::function<Result<void>(Snapshot& content)> check;
  // Refuses bytes that are not a database record, instead of passing them on as the sender had
  // them.
  bool checks_records = false;
};

// Builds a backend's file beside its final name: in commits of some MiB, read back and compared
// with the stream at the end, synced, then renamed. FinishPart and Write wait for the disk. A file
// at the path is replaced.
Result<std::unique_ptr<SnapshotSink>> MakeSnapshotSink(FileSystem& files,
                                                       SnapshotSinkOptions options);

}  // namespace kvorum::mvcc
