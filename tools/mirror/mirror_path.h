// The path of a key's file below a mirror's folder: what follows the prefix, as it is, if that is a
// path which every program can open and which stays below the folder. Nothing is escaped, so that a
// key's file is where its reader looks for it; other keys have no file.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace kvorum::ctl {

// The folder of the mirror's own files, below the mirror's.
inline constexpr std::string_view kMirrorOwn = ".kvorum-mirror";
inline constexpr std::size_t kMaxNameBytes = 255;   // NAME_MAX
inline constexpr std::size_t kMaxPathBytes = 3072;  // PATH_MAX, less what the folder's own may have

// kInvalidArgument with the reason: "has the part '..'".
Result<std::string> MirrorPath(std::string_view rest_of_key);

// The folder part of a path, without its slash; empty for one that has none.
std::string_view FolderOf(std::string_view path);

// For lists of paths, one a line: all but printable ASCII, and the percent sign, as %XX.
std::string EscapePath(std::string_view path);
// kInvalidArgument: it is not what EscapePath makes.
Result<std::string> UnescapePath(std::string_view text);

}  // namespace kvorum::ctl
