// A log file that is set aside when it is full: log becomes log-2006-01-02T15-04-05.000 (before its
// extension), and a new one begins. Names and rules are lumberjack's, which etcd uses, so that
// tools that collect such files find them.
//
// The first file may be reached through a link. After that none is followed, and a name that
// another user has taken meanwhile gets no lines until it is free again. Set-aside files that are
// links are left alone, and a packed file has the owner and mode of what it was made from.
//
// Used by one thread at a time. Old files are packed and removed on a separate thread, which
// works only after a rotation and at the start.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <thread>

#include "base/error.h"
#include "base/log/log_output.h"
#include "base/log/log_rotation.h"

namespace kvorum {

class RotatingFile final : public LogOutput {
 public:
  static Result<std::unique_ptr<LogOutput>> Open(const std::string& path,
                                                 const LogRotation& rotation);
  ~RotatingFile() override;

  // A line is never cut; one that is larger than a file has a file to itself.
  void Write(std::string_view lines) override;

  // Packs and removes what the rules say. For tests; otherwise its own thread does it.
  static void TidyUp(const std::string& path, const LogRotation& rotation, std::int64_t now_ms);

 private:
  RotatingFile(std::string path, const LogRotation& rotation);

  // Goes on with an opened file; false without one (negative).
  bool Begin(int descriptor);
  void Rotate();
  void StartTidyingUp();
  std::uint64_t max_bytes() const;

  const std::string path_;
  const LogRotation rotation_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
  std::thread tidying_;
};

}  // namespace kvorum
