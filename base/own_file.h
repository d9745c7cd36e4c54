// Which files a program may believe, or write over: those that no other user can have put there.
// For files in folders where others may create names, or that an operator may have copied from
// others.
#pragma once

#include <string>

#include "base/error.h"
#include "base/file_system.h"

namespace kvorum {

// kFailedPrecondition with the reason, after `name`: no regular file, has other names, belongs to
// another user than the process's, or may be written by others.
Result<void> CheckOwnFile(int fd, const std::string& name);
// The same for the file at the path, which must not be a symbolic link. Ok if nothing is there.
Result<void> CheckOwnFileAt(const std::string& path);
// The machine's files. Open and Lock follow no link of the last name, and refuse by the same rules
// what they have opened: no other user can put a file there after a check.
FileSystem& OwnFileSystem();

// The same for files that an operator has laid down for the process: a regular file or a folder
// that belongs to root or to the process's user, and that other users cannot write. Their file
// system may be read-only instead.
Result<void> CheckTrusted(int fd, const std::string& name);
// The machine's files. Open and List refuse by CheckTrusted what they have opened. Links are
// followed: to set one in a trusted folder takes the right to write there.
FileSystem& TrustedFileSystem();

}  // namespace kvorum
