// Gzip, for snapshots that are kept small: compressed as they come, and unpacked into a file.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tools/text/outcome.h"

struct z_stream_s;

namespace kvorum::ctl {

class GzipStream {
 public:
  GzipStream();
  ~GzipStream();
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  // The bytes that are ready.
  std::string Add(std::string_view bytes);
  // The rest. Nothing may be added after it.
  std::string Finish();

 private:
  std::string Run(std::string_view bytes, int flush);

  std::unique_ptr<z_stream_s> stream_;
};

// True if the file begins like one.
bool IsGzipFile(const std::string& path);

// Writes the unpacked content to an open file. An error if the file is damaged or cut.
Outcome<void> Gunzip(const std::string& path, int to_fd);

}  // namespace kvorum::ctl
