// A digest of a disk's names and bytes, by which tests count how many different disks they have
// seen.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/file_system.h"

namespace kvorum {

// A digest of everything below a directory, or of the bytes of a file if `dir` is one.
inline std::uint64_t DigestOf(FileSystem& disk, const std::string& dir = "/") {
  std::uint64_t digest = 0;
  const auto add = [&](std::uint64_t hash) { digest = digest * 0x9E3779B97F4A7C15 + hash; };
  const auto names = disk.List(dir);
  if (!names.has_value()) {
    const auto content = ReadWholeFile(disk, dir, std::uint64_t{1} << 30);
    return content.has_value() ? std::hash<std::string>()(*content) : 0;
  }
  for (const std::string& name : *names) {
    add(std::hash<std::string>()(name));
    add(DigestOf(disk, (dir == "/" ? dir : dir + "/") + name));
  }
  return digest;
}

}  // namespace kvorum
