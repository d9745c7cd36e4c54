// Gzip files in pieces, at the fastest level. A writer or reader is used by one thread at a time.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

struct z_stream_s;

namespace kvorum {

class GzipWriter {
 public:
  GzipWriter();
  ~GzipWriter();
  GzipWriter(const GzipWriter&) = delete;
  GzipWriter& operator=(const GzipWriter&) = delete;

  // The bytes that are ready.
  std::string Add(std::string_view bytes);
  // The rest, with these last bytes. Nothing may be added after it.
  std::string Finish(std::string_view bytes = {});

 private:
  std::string Run(std::string_view bytes, int flush);

  std::unique_ptr<z_stream_s> stream_;
};

class GzipReader {
 public:
  GzipReader();
  ~GzipReader();
  GzipReader(const GzipReader&) = delete;
  GzipReader& operator=(const GzipReader&) = delete;

  // Unpacks from the front of `packed`, which it shortens, until that is empty or `plain` is full.
  // Returns the number of unpacked bytes; nothing if the file is malformed.
  std::optional<std::size_t> Read(std::string_view& packed, std::span<char> plain);
  // True behind the last byte of the file.
  bool ended() const { return ended_; }

 private:
  std::unique_ptr<z_stream_s> stream_;
  bool ended_ = false;
};

}  // namespace kvorum
