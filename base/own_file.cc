#include "base/own_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace kvorum {
namespace {

std::unexpected<Error> NotOurs(const std::string& name, const std::string& why) {
  return Fail(Code::kFailedPrecondition, name + ": " + why);
}

Result<void> CheckOwn(const struct stat& status, const std::string& name) {
  if (S_ISLNK(status.st_mode)) return NotOurs(name, "it is a symbolic link");
  if (!S_ISREG(status.st_mode)) return NotOurs(name, "it is not a regular file");
  if (status.st_nlink > 1) return NotOurs(name, "it has another name as well");
  if (status.st_uid != geteuid())
    return NotOurs(name, "it belongs to the user " + std::to_string(status.st_uid) +
                             " and not to " + std::to_string(geteuid()));
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return NotOurs(name,
                   "others may write it: look at what is in it, then take that away (chmod go-w)");
  return {};
}

}  // namespace

Result<void> CheckOwnFile(int fd, const std::string& name) {
  struct stat status{};
  if (fstat(fd, &status) != 0) return Fail(Code::kUnknown, name + ": " + ErrnoText(errno));
  return CheckOwn(status, name);
}

Result<void> CheckOwnFileAt(const std::string& path) {
  struct stat status{};
  if (lstat(path.c_str(), &status) == 0) return CheckOwn(status, path);
  if (errno == ENOENT || errno == ENOTDIR) return {};
  return Fail(Code::kUnknown, path + ": " + ErrnoText(errno));
}

}  // namespace kvorum
