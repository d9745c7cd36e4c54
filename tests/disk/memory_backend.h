// The backend's in-memory twin: ordered maps, and a log in one file that makes commits durable. For
// tests and the simulation; it keeps the contract of mvcc/lmdb/backend.h with as little machinery
// as possible.
//
// File: two header slots of kSlotBytes, then frames. A slot: magic, commit number, end of the log,
// CRC-32C of these. A frame: payload size (4 bytes), CRC-32C of the payload (4), payload: commit
// number (8), then changes {put or removed (1), bucket (1), key size (4), value size (4), key,
// value}, and one byte that is not zero: a disk may lose the zero bytes of a sector that is
// rewritten. Numbers are little-endian. A commit writes its frame, syncs, writes the slot that the
// last commit did not write, syncs. After a crash the newest sound slot tells up to where every
// frame must be sound (a bad one there is damage, not a crash); sound and consecutive frames after
// it belong to a commit that was cut off before its slot was written, and count.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"
#include "mvcc/lmdb/backend.h"

namespace kvorum::mvcc {

// All data in memory, each commit a frame of the log at `path`, synced as `sync` has it.
Result<std::unique_ptr<Backend>> OpenMemoryBackend(FileSystem& file_system, std::string path,
                                                   CommitSync sync = CommitSync::kEachCommit);

// Damage that a faulty disk, another program or a lost page may do, with sound checksums.
enum class SpoilKind : std::uint8_t {
  kChange,  // the last byte of a value is another one
  kLose,    // a record is gone
};
// Spoils the newest record of a key in one of these backends, unnoticed by its user,
// on the thread that commits. False if there is none with a value.
Result<bool> SpoilNewest(Backend& backend, std::string_view key, SpoilKind kind);

// Makes one of these backends tell its readers that it waits for them, as LMDB's does while its
// map must grow. Any thread.
void TellReadersToEnd(Backend& backend, bool must_end);
// The number of its readers. Any thread.
int ReadersOf(Backend& backend);

}  // namespace kvorum::mvcc
