#include "server/process/machine/memory_lock.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace kvorum::server {
namespace {

constexpr int kCapIpcLock = 14;  // capabilities(7)

// Processes with this capability have no limit of locked memory.
bool MayLockWithoutLimit() {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with("CapEff:")) continue;
    const std::uint64_t effective = std::strtoull(line.c_str() + 7, nullptr, 16);
    return ((effective >> kCapIpcLock) & 1) != 0;
  }
  return false;
}

}  // namespace

Result<void> LockMemory() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      !MayLockWithoutLimit()) {
    return Fail(Code::kFailedPrecondition,
                "--memory-mlock needs a limit of locked memory that is unlimited (LimitMEMLOCK= of "
                "systemd, ulimit -l) or the capability IPC_LOCK; the limit is " +
                    std::to_string(limit.rlim_cur) + " bytes");
  }
  if (mlockall(MCL_CURRENT | MCL_FUTURE | MCL_ONFAULT) == 0) return {};
  return Fail(Code::kFailedPrecondition, "--memory-mlock: " + ErrnoText(errno));
}

}  // namespace kvorum::server
