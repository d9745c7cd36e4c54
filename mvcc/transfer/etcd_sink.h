// Takes a snapshot that an etcd member sends, and makes a backend of it. A bbolt file can be read
// only when it is whole, so it is kept beside the backend meanwhile, and removed in any case.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/transfer/etcd_import.h"
#include "mvcc/transfer/snapshot_stream.h"

namespace kvorum::mvcc {

struct EtcdSinkOptions {
  SnapshotSinkOptions sink;
  // Takes the place of the file's own.
  EtcdMeta meta;
  // Checks what the file says itself, before anything is converted. May be empty.
  std::function<Result<void>(const EtcdMeta& meta)> check_meta;
};

// The parts of its finish convert: every page is checked, every record copied in commits of some
// MiB, and read back, which takes as long as writing the database. A file beside the path, with
// ".etcd" at its end, holds what was received. It needs as much disk as both; kResourceExhausted if
// there is less. The first page tells how long the file is: other content, and bytes beyond, are
// refused at once.
Result<std::unique_ptr<SnapshotSink>> MakeEtcdSink(FileSystem& files, EtcdSinkOptions options);

}  // namespace kvorum::mvcc
