#include "mvcc/records/read_ahead.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace kvorum::mvcc {

void RecordReadAhead::FetchPages(ReadAhead::Pages pages) {
  // One call fetches no more than the disk's read-ahead, by default this much.
  constexpr std::uintptr_t kCallBytes = 128 * 1024;
  static const auto system_page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const std::uintptr_t end = (pages.first + pages.count) * ReadAhead::kPageBytes;
  for (std::uintptr_t at = pages.first * ReadAhead::kPageBytes; at < end;) {
    at -= at % system_page_bytes;
    const std::uintptr_t bytes = std::min(kCallBytes, end - at);
    ::madvise(reinterpret_cast<void*>(at), bytes, MADV_WILLNEED);
    at += bytes;
  }
}

}  // namespace kvorum::mvcc
