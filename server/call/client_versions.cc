#include "server/call/client_versions.h"

namespace kvorum::server {

std::size_t ClientVersions::Learn(std::string_view version) {
  if (version.size() > kMostBytes) return kMost;
  const std::lock_guard lock(mutex_);
  const std::size_t known = known_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < known; ++i) {
    if (versions_[i] == version) return i;
  }
  if (known == kMost) return kMost;
  versions_[known] = version;
  known_.store(known + 1, std::memory_order_release);
  return known;
}

void ClientVersions::ForEach(const Visit& visit) const {
  const auto tell = [&](std::string_view version, std::size_t place) {
    for (const bool is_stream : {false, true}) {
      if (const std::uint64_t calls = cells_.Sum(2 * place + (is_stream ? 1 : 0)); calls > 0)
        visit(version, is_stream, calls);
    }
  };
  const std::size_t known = known_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < known; ++i) tell(versions_[i], i);
  tell("other", kMost);
}

}  // namespace kvorum::server
