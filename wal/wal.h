// The write-ahead log of one member: CRC-framed records in segment files of one folder, in the
// format that wal/format.h describes. What a member has promised to others or to a client is here
// before the promise leaves.
//
//   Create or ListMarkers + Open, then Writer::Append and Sync, now and then SaveSnapshot,
//   ReleaseTo and Purge, at the end Close.
//
// Errors: kAlreadyExists (Create over a log), kNotFound (no log, or no such marker),
// kFailedPrecondition (another process has the folder, named in the text), kDataLoss (the log is
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

// What the log holds past a marker.
struct Contents {
  Metadata metadata;
  // The last one; its term is at least that of the last entry.
  raft::HardState hard_state;
  // The index that the entries follow: the marker, or an entry behind it if Needs let some be left
  // out.
  raft::Index previous_index = 0;
  raft::Term previous_term = 0;
  // In order of their indexes without gaps. Each owns its bytes.
  std::vector<raft::Entry> entries;
};

// Which entries are needed, for who has not the memory for all.
struct Needs {
  // As soon as entries take more than this, the oldest are left out, as far as they are not needed.
  std::size_t size_bytes = SIZE_MAX;
  // Entries up to here are committed, and not needed. Asked once, if there are too many.
  std::function<raft::Index()> not_up_to;
};

// What was cut off the end of the log: the remains of a write that no Sync had confirmed.
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

// Whether the folder holds a log. A Create that did not return leaves none.
Result<bool> Exists(FileSystem& fs, const std::string& dir);

// A new log in the folder, which is made if missing. Durable on return.
Result<std::unique_ptr<Writer>> Create(FileSystem& fs, const std::string& dir,
                                       const Metadata& metadata, const Options& options);

// The markers that Open may be given, oldest first: those that count (wal/log_view.h), from the
// last received snapshot on, at or below the commit index of the last hard state. Take the newest
// whose state is on disk. Reads the whole log (about 1 s per 1.5 GB).
Result<std::vector<SnapshotMarker>> ListMarkers(FileSystem& fs, const std::string& dir);

// What the log holds past the marker (of a received snapshot: nothing from before it), without a
// lock and without repair: for tools and checks. A torn tail is passed over.
Result<Contents> Read(FileSystem& fs, const std::string& dir, const SnapshotMarker& from);

// Locks the folder, reads the log past the marker (index and term count), cuts a torn tail off
// (unless options.durable_index says that it cannot be one) and
// makes all that it returns durable: what a killed process had written but not synced counts as
// synced afterwards, and so does what a failed sync had left in the kernel's cache alone.
Result<Opened> Open(FileSystem& fs, const std::string& dir, const SnapshotMarker& from,
                    const Options& options, const Needs& needs = {});

}  // namespace kvorum::wal
