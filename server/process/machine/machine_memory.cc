#include "server/process/machine/machine_memory.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "base/text/parse_number.h"

namespace kvorum::server {
namespace {

constexpr std::uint64_t kNoLimit = UINT64_MAX;

// The number in a file of a control group; none for "max", or without the file.
std::uint64_t LimitIn(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::string word;
  if (!(in >> word)) return kNoLimit;
  return ParseNumber<std::uint64_t>(word).value_or(kNoLimit);
}

// The lowest limit of the group and its ancestors.
std::uint64_t LeastLimit(const std::filesystem::path& mount, std::string_view group,
                         const char* file) {
  std::filesystem::path at = std::filesystem::path(group).relative_path();
  std::uint64_t least = LimitIn(mount / file);
  while (!at.empty()) {
    least = std::min(least, LimitIn(mount / at / file));
    at = at.has_relative_path() && at != at.parent_path() ? at.parent_path()
                                                          : std::filesystem::path();
  }
  return least;
}

std::uint64_t ControlGroupLimit(const std::string& root) {
  std::ifstream in(root + "/proc/self/cgroup");
  const std::filesystem::path mount(root + "/sys/fs/cgroup");
  std::uint64_t least = kNoLimit;
  for (std::string line; std::getline(in, line);) {
    // hierarchy:controllers:group
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string::npos || second == std::string::npos) continue;
    const std::string_view controllers =
        std::string_view(line).substr(first + 1, second - first - 1);
    const std::string_view group = std::string_view(line).substr(second + 1);
    if (controllers.empty()) {
      least = std::min(least, LeastLimit(mount, group, "memory.max"));
    } else if (("," + std::string(controllers) + ",").contains(",memory,")) {
      least = std::min(least, LeastLimit(mount / "memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

std::uint64_t ProcessLimit() {
  std::uint64_t least = kNoLimit;
  for (const auto resource : {RLIMIT_AS, RLIMIT_DATA}) {
    rlimit limit{};
    if (getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
      least = std::min<std::uint64_t>(least, limit.rlim_cur);
  }
  return least;
}

}  // namespace

std::uint64_t MemoryLimitBytes(const std::string& root) {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page_bytes = sysconf(_SC_PAGESIZE);
  const std::uint64_t machine =
      pages > 0 && page_bytes > 0
          ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page_bytes)
          : kNoLimit;
  return std::min({machine, ControlGroupLimit(root), ProcessLimit()});
}

std::uint64_t DefaultAnswerMemoryBytes(std::uint64_t memory_limit_bytes) {
  constexpr std::uint64_t kMiB = 1 << 20;
  return std::clamp(memory_limit_bytes / 8, 64 * kMiB, 1024 * kMiB);
}

}  // namespace kvorum::server
