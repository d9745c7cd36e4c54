// The archive that a command's flags name: a folder or a bucket, reached with retries.
//
// Used by the command's main thread; the store by one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "archive/format/names.h"
#include "archive/store/object_store.h"
#include "archive/store/stop_signal.h"
#include "tools/shell/command.h"
#include "tools/text/outcome.h"

namespace kvorum::utl {

// --url, --history, and those of S3; inherited by each command of "archive".
std::vector<ctl::Flag> ArchiveStoreFlags();

enum class ArchiveAccess : std::uint8_t { kRead, kDelete };

class OpenedArchive {
 public:
  // kBadArguments for a URL or another flag that cannot be; a bucket is not reached yet.
  static ctl::Outcome<std::unique_ptr<OpenedArchive>> Open(const ctl::Invocation& invocation,
                                                           ArchiveAccess access);
  OpenedArchive(const OpenedArchive&) = delete;
  OpenedArchive& operator=(const OpenedArchive&) = delete;

  archive::ObjectStore& store() { return *store_; }
  // --history; nullopt without one.
  std::optional<archive::HistoryId> history() const { return history_; }
  // Ends calls that wait. Thread-safe.
  archive::StopSignal& stop() { return stop_; }

 private:
  OpenedArchive() = default;

  archive::StopSignal stop_;
  std::unique_ptr<archive::ObjectStore> store_;
  std::optional<archive::HistoryId> history_;
};

}  // namespace kvorum::utl
