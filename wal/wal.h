// The write-ahead log of one member: CRC-framed records in segment files of one directory, in the
// format that wal/format.h describes. Everything that a member has promised to others or to a
// client is here before the promise leaves.
//
//   Create or ListMarkers + Open, then Writer::Append and Sync, now and then SaveSnapshot,
//   ReleaseTo and Purge, at the end Close.
//
// Errors: kAlreadyExists (Create over a log), kNotFound (no log, or no such marker),
// kFailedPrecondition (another process has the directory, named in the text), kDataLoss (the log is
// damaged: the text names file, offset and what to do), and those of the file system. A damaged log
// is never changed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "proto/raft_types.h"
#include "wal/marker.h"
#include "wal/writer.h"

namespace kvorum::wal {

// The content of the log after a marker.
struct Contents {
  Metadata metadata;
  // The last hard state; its term is at least that of the last entry.
  raft::HardState hard_state;
  // The index before the first entry: the marker's, or a later one if Needs allowed to leave
  // entries out.
  raft::Index previous_index = 0;
  raft::Term previous_term = 0;
  // In order of their indexes without gaps. Each owns its bytes.
  std::vector<raft::Entry> entries;
};

// The entries that are needed, for callers that lack the memory for all.
struct Needs {
  // Once entries take more than this, the oldest ones that are not needed are left out.
  std::size_t size_bytes = SIZE_MAX;
  // Entries up to here are committed, and not needed. Called once, if there are too many.
  std::function<raft::Index()> not_up_to;
};

// The bytes cut off the end of the log: the remains of a write that no Sync had confirmed.
struct TornTail {
  std::string file;
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;  // from the offset to the last byte that is not zero
  std::string reason;
};

struct Opened {
  std::unique_ptr<Writer> writer;
  Contents contents;
  std::optional<TornTail> torn;  // for the log line; the bytes are in <file>.broken
};

// True if the directory holds a log. A Create that did not return leaves none.
Result<bool> Exists(FileSystem& fs, const std::string& dir);

// Creates a log in the directory, which is created if missing. Durable on return.
Result<std::unique_ptr<Writer>> Create(FileSystem& fs, const std::string& dir,
                                       const Metadata& metadata, const Options& options);

// The markers that Open accepts, oldest first: those that count (wal/log_view.h), from the last
// received snapshot on, at or below the commit index of the last hard state. Choose the newest
// whose state is on disk. Reads the whole log (about 1 s per 1.5 GB).
Result<std::vector<SnapshotMarker>> ListMarkers(FileSystem& fs, const std::string& dir);

// The content of the log after the marker (of a received snapshot: nothing from before it), without
// a lock and without repair: for tools and checks. A torn tail is ignored.
Result<Contents> Read(FileSystem& fs, const std::string& dir, const SnapshotMarker& from);

// Locks the directory, reads the log after the marker (index and term must match), cuts a torn tail
// off (unless options.durable_index says that it cannot be one) and makes all that it returns
// durable: writes that a killed process had not synced count as synced afterwards, and so do writes
// that a failed sync had left only in the kernel's cache.
Result<Opened> Open(FileSystem& fs, const std::string& dir, const SnapshotMarker& from,
                    const Options& options, const Needs& needs = {});

}  // namespace kvorum::wal
