// A mirror's note that its folder has changed since the program of --exec last succeeded: a byte of
// .kvorum-mirror/exec, '1' ahead of a change and '0' behind a success. A mirror that is stopped or
// killed in between finds it at its next start.
//
// The byte is written in place, which takes no space on a full disk. Thread-safe.
#pragma once

#include <cstdint>
#include <mutex>

#include "base/error.h"
#include "base/file_descriptor.h"
#include "rpc/tls/socket.h"

namespace kvorum::ctl {

class MirrorMark {
 public:
  // Reads the note of the last run, if there is one.
  Result<void> Open(int own_folder);
  // Before files change; durable when it returns.
  Result<void> Set();
  // A number for Clear, which grows with each Set.
  std::uint64_t changes() const;
  // The program has succeeded that was begun at this number of changes.
  void Clear(std::uint64_t changes);
  bool is_set() const;

 private:
  Result<void> Write(char byte) const;

  mutable std::mutex mutex_;
  FileDescriptor file_;
  std::uint64_t changes_ = 0;
  bool is_set_ = false;
};

}  // namespace kvorum::ctl
