#include "bbolt/file_writer.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace kvorum::bbolt {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{1} << 20;
constexpr std::size_t kUnitBytes = std::size_t{32} << 10;

}  // namespace

FileWriter::FileWriter(File& file, std::uint32_t page_size, OnProgress on_progress)
    : file_(file),
      on_progress_(std::move(on_progress)),
      writer_(Writer::WritingWithoutPlan(page_size)) {}

Result<void> FileWriter::Write(const std::string& bytes) {
  const std::array<std::string_view, 1> part = {bytes};
  KV_RETURN_IF_ERROR(file_.WriteAt(written_bytes_, part));
  written_bytes_ += bytes.size();
  if (on_progress_) on_progress_(written_bytes_);
  return {};
}

Result<void> FileWriter::WriteReady() {
  return writer_.ReadyBytes() < kChunkBytes ? Result<void>() : Write(writer_.Take(kUnitBytes));
}

Result<void> FileWriter::Finish() {
  KV_TRY(const Plan plan, writer_.Finish());
  KV_RETURN_IF_ERROR(Write(writer_.Take()));
  KV_RETURN_IF_ERROR(file_.Sync());
  const std::string metas = MetaPages(plan);
  const std::array<std::string_view, 1> part = {metas};
  KV_RETURN_IF_ERROR(file_.WriteAt(0, part));
  return file_.Sync();
}

}  // namespace kvorum::bbolt
