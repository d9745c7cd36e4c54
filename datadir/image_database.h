// A database made of an image in etcd's format: a saved snapshot, or an archive's base.
//
// Used by one thread. The image has been checked (bbolt::Reader::Check): the walk over its content
// would believe a page that is free, or that two branches have.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/transfer/etcd_import.h"
#include "mvcc/transfer/snapshot_stream.h"

namespace kvorum::bbolt {
class Reader;
}  // namespace kvorum::bbolt

namespace kvorum::datadir {

struct ImageDatabase {
  std::string path;  // of the new database
  mvcc::BackendOpener open;
  // The place in the log, instead of the image's own.
  mvcc::EtcdMeta meta;
  // Damaged members do not matter: they are replaced.
  bool passes_over_members = false;
  // The bytes of content that have been put; may be empty.
  std::function<void(std::uint64_t bytes)> on_progress = {};
};

// The storage version that a database made of the image has: ours, or none, which the cluster then
// decides anew. kFailedPrecondition for one that this program does not read.
Result<std::string> StorageVersionOfImage(const mvcc::EtcdMeta& meta);

// Puts the image's content into a new database, and compares. kResourceExhausted for a full disk,
// kDataLoss for a damaged image. What the backend's opener says of commits holds: they need not be
// durable.
Result<std::unique_ptr<mvcc::Backend>> MakeDatabaseOfImage(bbolt::Reader& image,
                                                           const ImageDatabase& options);

}  // namespace kvorum::datadir
