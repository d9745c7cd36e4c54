#include "server/replica/upkeep/disk_space.h"

namespace kvorum::server {

void DiskSpace::Refresh() {
  // A file system that does not report its free space sets no limit.
  if (const auto free = fs_.FreeSpace(dir_); free.has_value()) {
    free_bytes_.store(*free, std::memory_order_relaxed);
  }
}

}  // namespace kvorum::server
