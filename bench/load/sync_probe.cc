#include "bench/load/sync_probe.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

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

bool WriteZeros(int fd, std::size_t size_bytes) {
  const std::string zeros(std::size_t{1} << 20, '\0');
  for (std::size_t at = 0; at < size_bytes;) {
    const std::size_t part = std::min(zeros.size(), size_bytes - at);
    const ssize_t written = pwrite(fd, zeros.data(), part, static_cast<off_t>(at));
    if (written <= 0) return false;
    at += static_cast<std::size_t>(written);
  }
  return true;
}

bool Prepare(int fd, const SyncProbeOptions& options) {
  const std::size_t size_bytes = options.size_bytes * options.count;
  switch (options.space) {
    case ProbeSpace::kNone:
      return true;
    case ProbeSpace::kReserved:
      return posix_fallocate(fd, 0, static_cast<off_t>(size_bytes)) == 0;
    case ProbeSpace::kZeroed:
      return WriteZeros(fd, size_bytes);
  }
  std::unreachable();
}

}  // namespace

Result<Histogram> RunSyncProbe(const SyncProbeOptions& options) {
  const std::string path = options.dir + "/sync-probe.tmp";
  const int fd = open(path.c_str(), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return Fail(Code::kUnknown, fmt::format("{}: {}", path, std::strerror(errno)));
  Result<Histogram> result = Fail(Code::kUnknown, "cannot prepare the file's space");
  if (Prepare(fd, options) && fsync(fd) == 0) result = AppendAndSync(fd, options);
  close(fd);
  unlink(path.c_str());
  return result;
}

}  // namespace kvorum::bench
