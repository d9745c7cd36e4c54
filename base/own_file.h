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

// The same for what an operator has laid down for the process: a regular file or a folder that is
// root's or the process's user's, and that nobody else may write, by its mode or since its file
// system is read-only.
Result<void> CheckTrusted(int fd, const std::string& name);
// The machine's files. Open and List refuse by CheckTrusted what they have opened. Links are
// followed: whoever may set one in a trusted folder may write there.
FileSystem& TrustedFileSystem();

}  // namespace kvorum
