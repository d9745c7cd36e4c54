// The check of a whole file: each page below the high water is reachable exactly once, or in the
// freelist (or, where none is kept, out of reach); every bucket, nested ones too, can be walked.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/error.h"
#include "bbolt/cursor.h"
#include "bbolt/page_file.h"

namespace kvorum::bbolt {

// Used by one thread at a time; the file outlives it. Memory: two bits for each page.
class PageCheck {
 public:
  explicit PageCheck(PageFile& file)
      : file_(file), reached_(file.meta().high_water), free_(file.meta().high_water) {}
  PageCheck(const PageCheck&) = delete;
  PageCheck& operator=(const PageCheck&) = delete;

  // Reads some MiB, or a leaf that is larger; true when everything has been read. kDataLoss names
  // the first page at fault, and is final.
  Result<bool> Step();
  // The bytes of the pages that were reached so far.
  std::uint64_t checked_bytes() const { return reached_pages_ * file_.meta().page_size; }

 private:
  Result<void> Begin();
  Result<bool> End() const;
  Result<void> Reach(PageId id, std::uint32_t overflow);
  Result<void> ReadFreelist(PageId id);
  Result<PageId> ReadId(PageId page, std::uint64_t offset);
  Result<void> AddFree(PageId freelist, PageId id);
  // Reached here, and not when the walk comes to it, so that no root is noted twice.
  Result<void> AddBucket(PageId root);
  // Walks of buckets, to the first or the next key.
  Result<void> BeginWalk(PageId root);
  Result<void> GoOn();

  PageFile& file_;
  bool begun_ = false;
  std::uint64_t reached_pages_ = 0;
  std::vector<bool> reached_;
  std::vector<bool> free_;
  std::vector<PageId> roots_;     // of buckets whose walk is to come; each is reached already
  std::optional<Cursor> cursor_;  // stands at a key
};

}  // namespace kvorum::bbolt
