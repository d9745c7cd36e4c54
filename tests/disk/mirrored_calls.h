// Mirrors this process's changes to the files of one directory by calls of the C library on a
// simulated disk, from every caller: also a library such as LMDB, whose writes pass no interface of
// ours. So a power cut can be taken at each of them (SimFileSystem::CrashImage).
//
// The program that links this has functions of these names in front of the C library's: open,
// pwrite, write, writev, pwritev, fdatasync, fsync, ftruncate, fallocate, posix_fallocate, mkdir,
// rename, unlink, remove, close. The disk does each first, which is when its observer is called. A
// write through a descriptor of O_DSYNC makes its own bytes durable and nothing before it. No sync
// of the program reaches the machine's own disk: nothing needs to outlive a power cut. Writes
// through a map are not seen: for LMDB, as we open it, that is its lock file alone.
#pragma once

#include <string>

#include "tests/disk/sim_file_system.h"

namespace kvorum {

// One at a time, and while it exists one thread changes files in the directory. The directory is
// empty at the start. The disk outlives it.
class MirroredCalls {
 public:
  MirroredCalls(SimFileSystem& disk, std::string folder);
  ~MirroredCalls();
  MirroredCalls(const MirroredCalls&) = delete;
  MirroredCalls& operator=(const MirroredCalls&) = delete;
};

}  // namespace kvorum
