#include "tools/mirror/mirror_mark.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "base/file_descriptor.h"

namespace kvorum::ctl {
namespace {

constexpr const char* kMarkName = "exec";

std::unexpected<Error> MarkError() {
  return Fail(Code::kUnavailable, std::string(kMarkName) + ": " + ErrnoText(errno));
}

}  // namespace

Result<void> MirrorMark::Open(int own_folder) {
  const std::lock_guard lock(mutex_);
  file_ = FileDescriptor(openat(own_folder, kMarkName,
                                O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC,
                                S_IRUSR | S_IWUSR));
  if (file_.get() < 0) return MarkError();
  char byte = 0;
  const ssize_t count = pread(file_.get(), &byte, 1, 0);
  if (count < 0) return MarkError();
  is_set_ = byte == '1';
  if (count == 1) return {};
  KV_RETURN_IF_ERROR(Write('0'));
  return fsync(own_folder) == 0 ? Result<void>() : MarkError();
}

Result<void> MirrorMark::Set() {
  const std::lock_guard lock(mutex_);
  ++changes_;
  if (is_set_) return {};
  KV_RETURN_IF_ERROR(Write('1'));
  if (fdatasync(file_.get()) != 0) return MarkError();
  is_set_ = true;
  return {};
}

std::uint64_t MirrorMark::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

bool MirrorMark::is_set() const {
  const std::lock_guard lock(mutex_);
  return is_set_;
}

// Without a sync: a power cut costs a run too many.
void MirrorMark::Clear(std::uint64_t changes) {
  const std::lock_guard lock(mutex_);
  if (changes == changes_ && is_set_ && Write('0')) is_set_ = false;
}

Result<void> MirrorMark::Write(char byte) const {
  return pwrite(file_.get(), &byte, 1, 0) == 1 ? Result<void>() : MarkError();
}

}  // namespace kvorum::ctl
