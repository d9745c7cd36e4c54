// Preloaded into a server under test (LD_PRELOAD): lets calls of the C library fail, and moves the
// wall clock. Controlled by the environment:
//   KVORUM_FAULT="CALL PATH FIRST LAST ERROR": of the calls on files whose path contains PATH,
//     those from the FIRST to the LAST, counted from 1, fail with EIO or ENOSPC, or write half of
//     what they are given (SHORT). CALL: pread, pwrite (its kinds with vectors, too), sync
//     (fdatasync and fsync). The first that fails is reported on stderr. ENOSPC is for new pages:
//     writes to the first two, LMDB's meta pages, neither fail nor count; with META only they do.
//   KVORUM_STALL=FILE: writes and syncs of files below .../member/ wait for as long as FILE exists,
//     as they do on a disk that stalls. The first that waits is reported on stderr.
//   KVORUM_CLOCK=FILE: its first 8 bytes, at any moment, are a number of seconds by which
//     CLOCK_REALTIME and everything derived from it are ahead.
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <optional>

namespace {

enum class Error : std::uint8_t { kIo, kNoSpace, kNoSpaceForMeta, kShort };

constexpr off_t kMetaBytes = off_t{2} * 4096;

struct Fault {
  std::array<char, 16> call = {};
  std::array<char, 256> path = {};
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  Error error = Error::kIo;
};

template <class Function>
Function* Real(const char* name) {
  void* const symbol = dlsym(RTLD_NEXT, name);
  if (symbol == nullptr) abort();
  return reinterpret_cast<Function*>(symbol);
}

std::optional<Fault> FaultOfEnvironment() {
  const char* const text = getenv("KVORUM_FAULT");
  if (text == nullptr) return std::nullopt;
  Fault fault;
  std::array<char, 16> error = {};
  if (sscanf(text, "%15s %255s %lu %lu %15s", fault.call.data(), fault.path.data(), &fault.first,
             &fault.last, error.data()) != 5)
    abort();
  fault.error = strcmp(error.data(), "EIO") == 0      ? Error::kIo
                : strcmp(error.data(), "ENOSPC") == 0 ? Error::kNoSpace
                : strcmp(error.data(), "META") == 0   ? Error::kNoSpaceForMeta
                                                      : Error::kShort;
  return fault;
}

bool IsBelow(int fd, const char* wanted, std::array<char, 4096>& path) {
  std::array<char, 64> link = {};
  snprintf(link.data(), link.size(), "/proc/self/fd/%d", fd);
  return readlink(link.data(), path.data(), path.size() - 1) >= 0 &&
         strstr(path.data(), wanted) != nullptr;
}

void WaitForDisk(const char* call, int fd) {
  static const char* const file = getenv("KVORUM_STALL");
  static std::atomic_flag reported;
  if (file == nullptr || strcmp(call, "pread") == 0 || access(file, F_OK) != 0) return;
  std::array<char, 4096> path = {};
  if (!IsBelow(fd, "/member/", path)) return;
  if (!reported.test_and_set()) dprintf(STDERR_FILENO, "stalled: %s of %s\n", call, path.data());
  while (access(file, F_OK) == 0) usleep(1000);
}

// The error that this call must have.
std::optional<Error> Injected(const char* call, int fd, off_t offset = kMetaBytes) {
  static const std::optional<Fault> fault = FaultOfEnvironment();
  static std::atomic<std::uint64_t> calls = 0;
  WaitForDisk(call, fd);
  if (!fault.has_value() || strcmp(fault->call.data(), call) != 0) return std::nullopt;
  std::array<char, 4096> path = {};
  if (!IsBelow(fd, fault->path.data(), path)) return std::nullopt;
  if (fault->error == (offset < kMetaBytes ? Error::kNoSpace : Error::kNoSpaceForMeta))
    return std::nullopt;
  const std::uint64_t number = ++calls;
  if (number < fault->first || number > fault->last) return std::nullopt;
  if (number == fault->first) dprintf(STDERR_FILENO, "injected: %s of %s\n", call, path.data());
  return fault->error;
}

int Fail(Error error) {
  errno = error == Error::kIo ? EIO : ENOSPC;
  return -1;
}

std::int64_t SecondsAhead() {
  static const std::int64_t* const shared = []() -> const std::int64_t* {
    const char* const path = getenv("KVORUM_CLOCK");
    if (path == nullptr) return nullptr;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    void* const map = mmap(nullptr, sizeof(std::int64_t), PROT_READ, MAP_SHARED, fd, 0);
    if (map == MAP_FAILED) abort();
    close(fd);
    return static_cast<const std::int64_t*>(map);
  }();
  return shared == nullptr ? 0 : __atomic_load_n(shared, __ATOMIC_RELAXED);
}

}  // namespace

extern "C" {

ssize_t pread(int fd, void* out, std::size_t count, off_t offset) {
  static auto* const real = Real<ssize_t(int, void*, std::size_t, off_t)>("pread");
  if (const auto error = Injected("pread", fd)) return Fail(*error);
  return real(fd, out, count, offset);
}

ssize_t pwrite(int fd, const void* bytes, std::size_t count, off_t offset) {
  static auto* const real = Real<ssize_t(int, const void*, std::size_t, off_t)>("pwrite");
  const auto error = Injected("pwrite", fd, offset);
  if (error == Error::kShort) return real(fd, bytes, (count + 1) / 2, offset);
  return error.has_value() ? Fail(*error) : real(fd, bytes, count, offset);
}

ssize_t pwritev(int fd, const iovec* parts, int count, off_t offset) {
  static auto* const real = Real<ssize_t(int, const iovec*, int, off_t)>("pwritev");
  const auto error = Injected("pwrite", fd, offset);
  if (error == Error::kShort) {
    const iovec half{parts->iov_base, (parts->iov_len + 1) / 2};
    return real(fd, &half, 1, offset);
  }
  return error.has_value() ? Fail(*error) : real(fd, parts, count, offset);
}

ssize_t writev(int fd, const iovec* parts, int count) {
  static auto* const real = Real<ssize_t(int, const iovec*, int)>("writev");
  const auto error = Injected("pwrite", fd);
  if (error == Error::kShort) return real(fd, parts, (count + 1) / 2);
  return error.has_value() ? Fail(*error) : real(fd, parts, count);
}

int fdatasync(int fd) {
  static auto* const real = Real<int(int)>("fdatasync");
  const auto error = Injected("sync", fd);
  return error.has_value() ? Fail(*error) : real(fd);
}

int fsync(int fd) {
  static auto* const real = Real<int(int)>("fsync");
  const auto error = Injected("sync", fd);
  return error.has_value() ? Fail(*error) : real(fd);
}

int clock_gettime(clockid_t clock, timespec* out) noexcept {
  static auto* const real = Real<int(clockid_t, timespec*)>("clock_gettime");
  const int result = real(clock, out);
  if (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE) out->tv_sec += SecondsAhead();
  return result;
}

int gettimeofday(timeval* __restrict out, void* __restrict zone) noexcept {
  static auto* const real = Real<int(timeval*, void*)>("gettimeofday");
  const int result = real(out, zone);
  out->tv_sec += SecondsAhead();
  return result;
}

time_t time(time_t* out) noexcept {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  if (out != nullptr) *out = now.tv_sec;
  return now.tv_sec;
}

}  // extern "C"
