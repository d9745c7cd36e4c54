#include "bench/load/sync_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

namespace kvorum::bench {
namespace {

Result<Histogram> AppendAndSync(int fd, const SyncProbeOptions& options) {
  const std::string record(options.size_bytes, 'r');
  Histogram histogram;
  off_t offset = 0;
  for (std::uint64_t i = 0; i < options.count; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const ssize_t written = pwrite(fd, record.data(), record.size(), offset);
    if (written != static_cast<ssize_t>(record.size()) || fdatasync(fd) != 0) {
      return Fail(Code::kUnknown, fmt::format("append and sync: {}", std::strerror(errno)));
    }
    const auto taken = std::chrono::steady_clock::now() - begin;
    histogram.Record(static_cast<std::uint64_t>(taken / std::chrono::nanoseconds(1)));
    offset += written;
  }
  return histogram;
}

}  // namespace

Result<Histogram> RunSyncProbe(const SyncProbeOptions& options) {
  const std::string path = options.dir + "/sync-probe.tmp";
  const int fd = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return Fail(Code::kUnknown, fmt::format("{}: {}", path, std::strerror(errno)));
  Result<Histogram> result = Fail(Code::kUnknown, "cannot reserve the file's space");
  const auto size = static_cast<off_t>(options.size_bytes * options.count);
  if (!options.preallocated || (posix_fallocate(fd, 0, size) == 0 && fsync(fd) == 0)) {
    result = AppendAndSync(fd, options);
  }
  close(fd);
  unlink(path.c_str());
  return result;
}

}  // namespace kvorum::bench
