// The simulated disk's own: files with the versions that a crash may bring back, and changes of
// names.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/disk/sim_file_system.h"

namespace kvorum {

// The path without repeated or trailing slashes.
std::string NormalizedPath(const std::string& path);

// A file or a directory; a directory has no bytes, and its names are in the file system's tables.
struct SimFileSystem::Inode {
  using Sector = std::array<char, kSectorBytes>;
  static constexpr Sector kZeroSector = {};
  // The versions kept of a sector between two syncs; beyond that the second-oldest is dropped.
  static constexpr std::size_t kMaxVersions = 8;

  bool is_folder = false;
  std::map<std::uint64_t, Sector> sectors;  // by number; missing ones are zero
  std::uint64_t size_bytes = 0;
  // The versions that a crash may bring back, oldest first: [0] is durable, later ones have been
  // current. A sector or size that is missing here is durable as it is.
  std::map<std::uint64_t, std::vector<Sector>> older_sectors;
  std::vector<std::uint64_t> older_sizes;
  // Sectors that a failed Sync has given up: like those of older_sectors, but no Sync helps them.
  std::map<std::uint64_t, std::vector<Sector>> stranded_sectors;
  std::uint64_t locked_by_process = 0;  // 0: not locked

  const Sector& At(std::uint64_t number) const {
    const auto found = sectors.find(number);
    return found == sectors.end() ? kZeroSector : found->second;
  }
  // Writes bytes into a sector and remembers its previous content.
  void Write(std::uint64_t number, std::size_t within, std::string_view bytes) {
    Sector next = At(number);
    std::memcpy(next.data() + within, bytes.data(), bytes.size());
    Replace(number, next);
  }
  void Replace(std::uint64_t number, const Sector& next) {
    if (const auto stranded = stranded_sectors.extract(number); !stranded.empty()) {
      older_sectors[number] = stranded.mapped();
    }
    const auto pending = older_sectors.find(number);
    if (pending == older_sectors.end()) {
      if (next == At(number)) return;  // durable as it is, before and after
      older_sectors[number] = {At(number)};
    } else {
      if (pending->second.size() >= kMaxVersions)
        pending->second.erase(pending->second.begin() + 1);
      pending->second.push_back(At(number));
    }
    sectors[number] = next;
  }
  void SetSize(std::uint64_t new_size) {
    if (new_size == size_bytes) return;
    older_sizes.push_back(size_bytes);
    if (new_size < size_bytes) {
      const auto first = sectors.lower_bound(new_size / kSectorBytes);
      std::vector<std::uint64_t> cut;
      for (auto it = first; it != sectors.end(); ++it) cut.push_back(it->first);
      for (const std::uint64_t number : cut) {
        const std::uint64_t begin = number * kSectorBytes;
        const std::size_t kept = new_size > begin ? static_cast<std::size_t>(new_size - begin) : 0;
        Write(number, kept, std::string_view(kZeroSector.data(), kSectorBytes - kept));
      }
    }
    size_bytes = new_size;
  }
  // All versions that a sector may have after a crash, the current one last.
  std::vector<Sector> Versions(std::uint64_t number, const std::vector<Sector>& older) const {
    std::vector<Sector> versions = older;
    versions.push_back(At(number));
    return versions;
  }
};

// One atomic change of names; nullptr means removed.
struct SimFileSystem::NameChange {
  std::vector<std::pair<std::string, InodePtr>> assignments;

  bool Touches(const std::string& dir) const {
    return std::ranges::any_of(assignments, [&](const auto& assignment) {
      return ParentDirectory(assignment.first) == dir;
    });
  }
  void ApplyTo(Entries& entries) const {
    for (const auto& [path, inode] : assignments) {
      if (inode != nullptr) {
        entries[path] = inode;
      } else {
        entries.erase(path);
      }
    }
  }
};

}  // namespace kvorum
