// Frees the blocks of large files that have lost their names, piece by piece.
//
// The kernel frees such a file in one go when its last descriptor is closed. With gigabytes, the
// file system's journal and a disk that gets the list of freed blocks are busy for so long that
// syncs of other files, such as the log's, wait for 50 to 200 ms (docs/decisions/0046).
//
// Used by one thread; has its own thread while there is something to free.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>

namespace kvorum::mvcc {

class FileRelease {
 public:
  // A smaller file is closed at once.
  static constexpr std::int64_t kPieceBytes = std::int64_t{32} << 20;

  FileRelease() = default;
  // Leaves the rest to the kernel.
  ~FileRelease();
  FileRelease(const FileRelease&) = delete;
  FileRelease& operator=(const FileRelease&) = delete;

  // Takes the descriptor, and frees the file's blocks if this is all that is left of the file. A
  // file that has a name, such as a hard link, or that somebody else has open, is closed as it is.
  void Add(int fd);

 private:
  void Run();
  // Returns false when it was stopped.
  bool FreePieces(int fd);

  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<int> files_;
  bool stops_ = false;
  bool runs_ = false;  // the thread has more to do

  std::thread thread_;
};

}  // namespace kvorum::mvcc
