// Makes the files that become segments: ahead of need, so that a cut does not wait, and with a
// reserve for the time when the disk is full. Thread-safe.
//
// A file is made under a temporary name, zero-filled and synced; `reserve` in the log's directory
// is such a file too, with another size.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/error.h"
#include "base/file_system.h"
#include "base/task.h"

namespace kvorum::wal {

class SpareSegments : public std::enable_shared_from_this<SpareSegments> {
 public:
  struct Options {
    std::uint64_t segment_size_bytes = 0;
    std::uint64_t reserve_size_bytes = 0;
    bool zero = false;
    Executor* background = nullptr;
  };
  struct Spare {
    std::unique_ptr<File> file;  // all zeros, synced
    std::string path;            // a temporary name, to be renamed
    std::uint64_t size_bytes = 0;
  };

  SpareSegments(FileSystem& fs, std::string dir, const Options& options);

  // Makes the reserve if it is missing. Part of opening the log: not in the background.
  void MakeReserve();
  // Makes sure that a spare and the reserve exist, in the background if there is one. Cheap if they
  // do.
  void Prepare();
  // A file of at least the size: the spare, else one made now, else the reserve. The caller owns
  // the file and its name.
  Result<Spare> Take(std::uint64_t size_bytes);
  bool SpaceLow() const { return space_low_.load(std::memory_order_relaxed); }
  // Takes back a file that did not become a segment.
  void Discard(Spare spare);
  // Drops the spare, and any file that the background is still making.
  void Stop();

  static Result<Spare> Make(FileSystem& fs, const std::string& dir, std::uint64_t size_bytes,
                            bool zero);

 private:
  void PrepareNow();
  Result<bool> HasReserve();

  FileSystem& fs_;
  const std::string dir_;
  const Options options_;
  std::atomic<bool> space_low_ = false;
  std::mutex mutex_;  // guards what follows; not held over I/O
  std::optional<Spare> ready_;
  bool reserve_ready_ = false;
  bool preparing_ = false;
  bool stopped_ = false;
};

}  // namespace kvorum::wal
