#pragma once

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

namespace kvorum {

// The bytes of address space that this process has for the file in one piece; 0:
// it is not mapped.
inline std::uint64_t MappedBytesOf(const std::string& path) {
  std::ifstream maps("/proc/self/maps");
  std::uint64_t most = 0;
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with(" " + path)) continue;
    const std::size_t dash = line.find('-');
    const std::uint64_t begin = std::stoull(line.substr(0, dash), nullptr, 16);
    most = std::max<std::uint64_t>(most, std::stoull(line.substr(dash + 1), nullptr, 16) - begin);
  }
  return most;
}

}  // namespace kvorum
