// Writes a bbolt file in one pass (writer.h): it is not valid until all of it is written and
// synced, since its first pages come last.
#pragma once

#include <cstdint>
#include <functional>

#include "base/error.h"
#include "base/file_system.h"
#include "bbolt/writer.h"

namespace kvorum::bbolt {

// Used by one thread at a time; the file, which is empty at first, outlives it. Errors are the
// writer's and the file's; any is final. Memory: a chunk and what the writer needs.
class FileWriter {
 public:
  using OnProgress = std::function<void(std::uint64_t written_bytes)>;
  FileWriter(File& file, std::uint32_t page_size, OnProgress on_progress = {});

  // Takes buckets and records. WriteReady is called now and then behind them.
  Writer& content() { return writer_; }
  // Writes what is ready, if it makes a chunk.
  Result<void> WriteReady();
  // Durable when it returns, but for the file's name.
  Result<void> Finish();

 private:
  Result<void> Write(const std::string& bytes);

  File& file_;
  const OnProgress on_progress_;
  Writer writer_;
  std::uint64_t written_bytes_ = 0;
};

}  // namespace kvorum::bbolt
