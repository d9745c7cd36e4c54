// An observer of each revision once readers see it: the watchers' hub.
//
// All but WantsRecords is called by the apply executor, which waits for nothing: a listener hands
// over and returns.
#pragma once

#include <cstdint>
#include <optional>

#include "mvcc/lmdb/write_buffer.h"

namespace kvorum::mvcc {

class PublishListener {
 public:
  virtual ~PublishListener() = default;

  // The revisions first to last, which follow the previously reported ones without a gap.
  struct Published {
    std::int64_t first = 0;
    std::int64_t last = 0;
    // Shows at least the records of these revisions; absent if they were not wanted.
    std::optional<WriteBuffer::View> records;
  };

  // True if a watcher would use the records now. Thread-safe.
  virtual bool WantsRecords() const = 0;
  virtual void OnPublished(Published published) = 0;
  // A snapshot has brought the store to this revision, perhaps past revisions that were never
  // reported; or back, if those that were reported are not of the cluster's history.
  virtual void OnInstalled(std::int64_t revision) = 0;
};

}  // namespace kvorum::mvcc
