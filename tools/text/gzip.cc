#include "tools/text/gzip.h"

#include <fcntl.h>
#include <unistd.h>
#include <zlib.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>

#include "base/check.h"

namespace kvorum::ctl {
namespace {

constexpr int kGzipWindow = 15 + 16;
constexpr std::size_t kBufferBytes = std::size_t{256} << 10;

std::unexpected<Failure> Damaged(const std::string& path) {
  return Fail(ExitCode::kError, path + ": the compressed file is damaged");
}

Outcome<void> WriteUnpacked(int fd, const char* bytes, std::size_t size_bytes) {
  while (size_bytes > 0) {
    const ssize_t written = ::write(fd, bytes, size_bytes);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Fail(ExitCode::kError, std::string("unpack: ") + std::strerror(errno));
    bytes += written;
    size_bytes -= static_cast<std::size_t>(written);
  }
  return {};
}

}  // namespace

GzipStream::GzipStream() : stream_(std::make_unique<z_stream_s>()) {
  KV_CHECK(deflateInit2(stream_.get(), Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8,
                        Z_DEFAULT_STRATEGY) == Z_OK,
           "no memory for gzip");
}

GzipStream::~GzipStream() { deflateEnd(stream_.get()); }

std::string GzipStream::Run(std::string_view bytes, int flush) {
  std::string out;
  std::array<char, std::size_t{64} << 10> buffer;  // NOLINT: filled by deflate
  stream_->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream_->avail_in = static_cast<uInt>(bytes.size());
  do {
    stream_->next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_->avail_out = static_cast<uInt>(buffer.size());
    deflate(stream_.get(), flush);
    out.append(buffer.data(), buffer.size() - stream_->avail_out);
  } while (stream_->avail_out == 0);
  return out;
}

std::string GzipStream::Add(std::string_view bytes) { return Run(bytes, Z_NO_FLUSH); }

std::string GzipStream::Finish() { return Run({}, Z_FINISH); }

bool IsGzipFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return file.get() == 0x1f && file.get() == 0x8b;
}

Outcome<void> Gunzip(const std::string& path, int to_fd) {
  std::ifstream file(path, std::ios::binary);
  std::string in(kBufferBytes, '\0');
  std::string out(kBufferBytes, '\0');
  z_stream_s stream{};
  KV_CHECK(inflateInit2(&stream, kGzipWindow) == Z_OK, "no memory for gzip");
  const std::unique_ptr<z_stream_s, int (*)(z_stream_s*)> end(&stream, inflateEnd);
  int code = Z_OK;
  while (code != Z_STREAM_END) {
    if (stream.avail_in == 0) {
      file.read(in.data(), static_cast<std::streamsize>(in.size()));
      stream.next_in = reinterpret_cast<Bytef*>(in.data());
      stream.avail_in = static_cast<uInt>(file.gcount());
      if (stream.avail_in == 0) return Damaged(path);
    }
    stream.next_out = reinterpret_cast<Bytef*>(out.data());
    stream.avail_out = static_cast<uInt>(out.size());
    code = inflate(&stream, Z_NO_FLUSH);
    if (code != Z_OK && code != Z_STREAM_END) return Damaged(path);
    KV_RETURN_IF_ERROR(WriteUnpacked(to_fd, out.data(), out.size() - stream.avail_out));
  }
  return {};
}

}  // namespace kvorum::ctl
