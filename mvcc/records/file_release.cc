#include "mvcc/records/file_release.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

namespace kvorum::mvcc {
namespace {

constexpr std::chrono::milliseconds kPause{20};

// The size of a file that only this descriptor refers to; 0 for any other.
std::int64_t SizeIfUnreachable(int fd) {
  struct stat file{};
  if (::fstat(fd, &file) != 0 || !S_ISREG(file.st_mode) || file.st_nlink != 0) return 0;
  // The kernel grants this lease only if there is no other opening of the file. An opening that
  // comes while it is held, by way of /proc, raises a signal: one that is ignored, instead of
  // SIGIO.
  ::fcntl(fd, F_SETSIG, SIGURG);
  if (::fcntl(fd, F_SETLEASE, F_WRLCK) != 0) return 0;
  ::fcntl(fd, F_SETLEASE, F_UNLCK);
  return file.st_size;
}

}  // namespace

FileRelease::~FileRelease() {
  {
    std::lock_guard lock(mutex_);
    stops_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  for (const int fd : files_) ::close(fd);
}

void FileRelease::Add(int fd) {
  if (SizeIfUnreachable(fd) <= kPieceBytes) {
    ::close(fd);
    return;
  }
  std::lock_guard lock(mutex_);
  files_.push_back(fd);
  if (std::exchange(runs_, true)) return;
  if (thread_.joinable()) thread_.join();  // it has left the lock for the last time
  thread_ = std::thread([this] { Run(); });
}

void FileRelease::Run() {
  pthread_setname_np(pthread_self(), "free-file");
  while (true) {
    int fd = -1;
    {
      std::lock_guard lock(mutex_);
      if (stops_ || files_.empty()) {
        runs_ = false;
        return;
      }
      fd = files_.front();
      files_.pop_front();
    }
    const bool goes_on = FreePieces(fd);
    ::close(fd);
    if (!goes_on) return;
  }
}

bool FileRelease::FreePieces(int fd) {
  for (std::int64_t left = SizeIfUnreachable(fd); left > 0;) {
    left = std::max<std::int64_t>(0, left - kPieceBytes);
    if (::ftruncate(fd, left) != 0) return true;
    std::unique_lock lock(mutex_);
    if (changed_.wait_for(lock, kPause, [this] { return stops_; })) return false;
  }
  return true;
}

}  // namespace kvorum::mvcc
