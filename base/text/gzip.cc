#include "base/text/gzip.h"

#include <zlib.h>

#include <array>

#include "base/check.h"

namespace kvorum {
namespace {

constexpr int kGzipWindow = 15 + 16;
constexpr int kMemoryLevel = 8;

void SetInput(z_stream& stream, std::string_view bytes) {
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
}

}  // namespace

GzipWriter::GzipWriter() : stream_(std::make_unique<z_stream>()) {
  KV_CHECK(deflateInit2(stream_.get(), Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel,
                        Z_DEFAULT_STRATEGY) == Z_OK,
           "no memory for gzip");
}

GzipWriter::~GzipWriter() { deflateEnd(stream_.get()); }

std::string GzipWriter::Run(std::string_view bytes, int flush) {
  std::string out;
  std::array<char, std::size_t{64} << 10> buffer;  // NOLINT: filled by deflate
  SetInput(*stream_, bytes);
  do {
    stream_->next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream_->avail_out = static_cast<uInt>(buffer.size());
    deflate(stream_.get(), flush);
    out.append(buffer.data(), buffer.size() - stream_->avail_out);
  } while (stream_->avail_out == 0);
  return out;
}

std::string GzipWriter::Add(std::string_view bytes) { return Run(bytes, Z_NO_FLUSH); }

std::string GzipWriter::Finish(std::string_view bytes) { return Run(bytes, Z_FINISH); }

GzipReader::GzipReader() : stream_(std::make_unique<z_stream>()) {
  KV_CHECK(inflateInit2(stream_.get(), kGzipWindow) == Z_OK, "no memory for gzip");
}

GzipReader::~GzipReader() { inflateEnd(stream_.get()); }

std::optional<std::size_t> GzipReader::Read(std::string_view& packed, std::span<char> plain) {
  SetInput(*stream_, packed);
  stream_->next_out = reinterpret_cast<Bytef*>(plain.data());
  stream_->avail_out = static_cast<uInt>(plain.size());
  const int code = inflate(stream_.get(), Z_NO_FLUSH);
  packed.remove_prefix(packed.size() - stream_->avail_in);
  ended_ = code == Z_STREAM_END;
  // Z_BUF_ERROR: nothing could be done without more input.
  if (!ended_ && code != Z_OK && code != Z_BUF_ERROR) return std::nullopt;
  return plain.size() - stream_->avail_out;
}

}  // namespace kvorum
