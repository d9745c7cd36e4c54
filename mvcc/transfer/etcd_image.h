// The database as etcd would keep it, for clients that save a snapshot and for members that are
// etcd's: one consistent state as the bytes of a bbolt file. Every bucket holds the keys and values
// that etcd has there, without the checksums and records that are ours alone.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/lmdb/backend.h"
#include "mvcc/transfer/snapshot_stream.h"

namespace kvorum::mvcc {

// Chunks of at least 1 MiB, except the last, and at most a leaf more; a multiple of
// kImageUnitBytes, again except for the last.
class EtcdImage : public SnapshotSource {
 public:
  // The bytes of all chunks together, once it is prepared.
  virtual std::uint64_t size_bytes() const = 0;
};

// The size of a message in which etcd sends a snapshot.
inline constexpr std::size_t kImageUnitBytes = std::size_t{32} << 10;

// Prepare reads all keys and the values' sizes, some thousand at a time, since the file's first
// bytes tell its size; Next then reads everything, through the same reader: a damaged value is
// found only there. Memory: a chunk, and a few pages for each level of the file's trees.
// kReaderMustEnd: start over. `owner` keeps alive what the reader needs.
std::unique_ptr<EtcdImage> MakeEtcdImage(Reader reader, std::shared_ptr<const void> owner,
                                         EtcdImageOptions options = {});

// The same as a file, written in one pass: it is not valid until all of it is written and synced,
// since its first pages come last. Durable when it returns, but for its name.
Result<void> WriteEtcdFile(Snapshot& content, const EtcdImageOptions& options, File& file,
                           const std::function<void(std::uint64_t written_bytes)>& on_progress);

}  // namespace kvorum::mvcc
