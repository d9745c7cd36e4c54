// Files in a member's directory that it did not make: a file system's lost+found, the leavings
// of a backup or of an NFS server. They are left alone and reported: something may have been
// mounted or copied into the wrong place.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/file_system.h"
#include "datadir/layout.h"

namespace kvorum::datadir {

struct ForeignFile {
  std::string_view message;  // etcd's line about such a file in such a folder
  std::string path;
};

// In the order of the folders, then of the names. A folder that cannot be listed has none.
std::vector<ForeignFile> FindForeignFiles(FileSystem& fs, const Layout& layout);

// A warning for each, up to 16 of a folder.
void WarnOfForeignFiles(FileSystem& fs, const Layout& layout);

}  // namespace kvorum::datadir
