// Reads entries of a log in order while its writer goes on: those that are durable, and of known
// terms. Keeps its place, so that reading on costs no search.
//
// Used by one thread, which need not be the writer's. Memory: that of a SegmentReader. A segment
// that is purged meanwhile is read to its end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file_system.h"
#include "proto/raft_types.h"
#include "wal/segment_name.h"
#include "wal/segment_reader.h"

namespace kvorum::wal {

class EntryCursor {
 public:
  EntryCursor(FileSystem& fs, std::string dir) : fs_(fs), dir_(std::move(dir)) {}

  // Returns the term of the valid entry at an index: the log may still hold others of that index,
  // which were replaced.
  using TermOf = std::function<raft::Term(raft::Index index)>;
  // The entries `from` to `to`, at least one; none is added once they have `max_size_bytes`.
  // kNotFound if the log begins later; kDataLoss if it lacks an entry that it should hold.
  Result<std::vector<raft::Entry>> Read(raft::Index from, raft::Index to,
                                        std::size_t max_size_bytes, const TermOf& term_of);

 private:
  Result<void> Seek(raft::Index index);
  // Returns false if there is no later segment.
  Result<bool> NextSegment();
  Result<void> OpenSegment(const SegmentName& name, std::optional<std::uint32_t> rolling_crc);

  FileSystem& fs_;
  const std::string dir_;
  std::optional<SegmentReader> reader_;
  SegmentName segment_;
  raft::Index next_ = 0;  // the entry before it was the last one read
};

}  // namespace kvorum::wal
