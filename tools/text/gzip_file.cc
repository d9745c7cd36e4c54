#include "tools/text/gzip_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/error.h"
#include "base/text/gzip.h"

namespace kvorum::ctl {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{256} << 10;

std::unexpected<Failure> Damaged(const std::string& path) {
  return Fail(ExitCode::kError, path + ": the compressed file is damaged");
}

Outcome<void> WriteUnpacked(int fd, const char* bytes, std::size_t size_bytes) {
  while (size_bytes > 0) {
    const ssize_t written = ::write(fd, bytes, size_bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Fail(ExitCode::kError, std::string("unpack: ") + ErrnoText(errno));
    bytes += written;
    size_bytes -= static_cast<std::size_t>(written);
  }
  return {};
}

}  // namespace

bool IsGzipFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return file.get() == 0x1f && file.get() == 0x8b;
}

Outcome<void> Gunzip(const std::string& path, int to_fd) {
  std::ifstream file(path, std::ios::binary);
  std::string in(kBufferBytes, '\0');
  std::string out(kBufferBytes, '\0');
  GzipReader reader;
  std::string_view packed;
  while (!reader.ended()) {
    if (packed.empty()) {
      file.read(in.data(), static_cast<std::streamsize>(in.size()));
      packed = std::string_view(in).substr(0, static_cast<std::size_t>(file.gcount()));
      if (packed.empty()) return Damaged(path);
    }
    const auto unpacked_bytes = reader.Read(packed, out);
    if (!unpacked_bytes) return Damaged(path);
    KV_RETURN_IF_ERROR(WriteUnpacked(to_fd, out.data(), *unpacked_bytes));
  }
  return {};
}

}  // namespace kvorum::ctl
