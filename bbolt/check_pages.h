// The check of a whole file: each page below the high water is reachable exactly once, or in the
// freelist (or, where none is kept, out of reach); every bucket, nested ones too, can be walked.
#pragma once

#include "base/error.h"
#include "bbolt/page_file.h"

namespace kvorum::bbolt {

// Reads everything. kDataLoss names the first page at fault.
Result<void> CheckPages(PageFile& file);

}  // namespace kvorum::bbolt
