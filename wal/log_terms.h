// The terms of a log's entries, found by reading it to its end while its writer goes on. They
// distinguish a committed entry from those of the same index that it has replaced.
//
// Used by one thread, which need not be the writer's. Memory: that of a SegmentReader, and 16 bytes
// for each change of the term. Keeps its place: an Update reads what was written since the last
// one.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "proto/raft_types.h"
#include "wal/log_view.h"
#include "wal/segment_name.h"
#include "wal/segment_reader.h"

namespace kvorum::wal {

class LogTerms {
 public:
  LogTerms(FileSystem& fs, std::string dir) : fs_(fs), dir_(std::move(dir)) {}

  // Reads to the log's end. An entry that was committed and durable before the call is then known
  // for good; one that was not may still be replaced. kDataLoss for a damaged log.
  Result<void> Update();
  // Entries from here on, as far as the log goes, are in its segments: later ones than the first
  // segment's, where a received snapshot has made those before it void. After an Update.
  raft::Index first_index() const;
  // 0 for an entry that is not there.
  raft::Term TermAt(raft::Index index) const;
  // Closes the file. The next Update reads everything again.
  void Close();

 private:
  Result<void> Begin(const SegmentName& first);
  Result<void> OpenSegment(const SegmentName& name, std::optional<std::uint32_t> rolling_crc);
  Result<bool> ReadOn();
  Result<void> Add(const Record& record);

  FileSystem& fs_;
  const std::string dir_;
  std::optional<LogView> view_;
  std::optional<SegmentReader> reader_;
  SegmentName segment_;
};

}  // namespace kvorum::wal
