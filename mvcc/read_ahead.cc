#include "mvcc/read_ahead.h"

#include <sys/mman.h>

namespace kvorum::mvcc {

void RecordReadAhead::FetchPages(ReadAhead::Pages pages) {
  ::madvise(reinterpret_cast<void*>(pages.first * ReadAhead::kPageBytes),
            pages.count * ReadAhead::kPageBytes, MADV_WILLNEED);
}

}  // namespace kvorum::mvcc
