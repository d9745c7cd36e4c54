#include "base/own_file.h"

#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

namespace kvorum {
namespace {

constexpr uid_t kRoot = 0;

std::unexpected<Error> NotOurs(const std::string& name, const std::string& why) {
  return Fail(Code::kFailedPrecondition, name + ": " + why);
}

std::unexpected<Error> OthersMayWrite(const std::string& name) {
  return NotOurs(name,
                 "others may write it: look at what is in it, then take that away (chmod go-w)");
}

bool IsWrittenByOthers(const struct stat& status) {
  return (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
}

bool IsReadOnly(int fd) {
  struct statvfs status{};
  return fstatvfs(fd, &status) == 0 && (status.f_flag & ST_RDONLY) != 0;
}

Result<void> CheckOwn(const struct stat& status, const std::string& name) {
  if (S_ISLNK(status.st_mode)) return NotOurs(name, "it is a symbolic link");
  if (!S_ISREG(status.st_mode)) return NotOurs(name, "it is not a regular file");
  if (status.st_nlink > 1) return NotOurs(name, "it has another name as well");
  if (status.st_uid != geteuid())
    return NotOurs(name, "it belongs to the user " + std::to_string(status.st_uid) +
                             " and not to " + std::to_string(geteuid()));
  if (IsWrittenByOthers(status)) return OthersMayWrite(name);
  return {};
}

}  // namespace

Result<void> CheckOwnFile(int fd, const std::string& name) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return Fail(Code::kUnknown, name + ": " + ErrnoText(errno));
  return CheckOwn(status, name);
}

Result<void> CheckTrusted(int fd, const std::string& name) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return Fail(Code::kUnknown, name + ": " + ErrnoText(errno));
  if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode))
    return NotOurs(name, "it is neither a regular file nor a folder");
  if (status.st_uid != kRoot && status.st_uid != geteuid())
    return NotOurs(name, "it belongs to the user " + std::to_string(status.st_uid) +
                             " and neither to root nor to " + std::to_string(geteuid()));
  if (IsWrittenByOthers(status) && !IsReadOnly(fd)) return OthersMayWrite(name);
  return {};
}

Result<void> CheckOwnFileAt(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) == 0) return CheckOwn(status, path);
  if (errno == ENOENT || errno == ENOTDIR) return {};
  return Fail(Code::kUnknown, path + ": " + ErrnoText(errno));
}

}  // namespace kvorum
