// Any bytes in place of a log's last segment, or of its first of two: reading must end in contents
// or an error, and what Open returns must be what a second Open returns.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string_view>

#include "base/sim_file_system.h"
#include "wal/wal.h"

namespace {

using namespace kvorum;

constexpr const char* kDir = "/wal";
constexpr wal::Metadata kMetadata = {.node_id = 1, .cluster_id = 2};
constexpr wal::Options kOptions = {.segment_size_bytes = 1024,
                                   .reserve_size_bytes = 0,
                                   .zero_segments = false,
                                   .background = nullptr};

void Require(bool condition) {
  if (!condition) std::abort();
}

// Puts the bytes over the begin of the segment, keeping its size if they are fewer.
void Overwrite(FileSystem& fs, const std::string& path, std::string_view bytes) {
  auto file = fs.Open(path, FileSystem::OpenMode::kReadWrite);
  const std::array<std::string_view, 1> parts = {bytes};
  Require(file.has_value() && (*file)->WriteAt(0, parts).has_value());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  SimFileSystem fs;
  {
    auto writer = wal::Create(fs, kDir, kMetadata, kOptions);
    Require(writer.has_value());
    if ((data[0] & 1) != 0) Require((*writer)->Cut().has_value());
  }
  const std::string name = wal::SegmentName{}.FileName();
  Overwrite(fs, std::string(kDir) + "/" + name, bytes);

  static_cast<void>(wal::ListMarkers(fs, kDir));
  auto opened = wal::Open(fs, kDir, {}, kOptions);
  if (!opened.has_value()) return 0;
  const raft::Entry entry = {.term = opened->contents.hard_state.term + 1,
                             .index = opened->writer->last_index() + 1,
                             .type = raft::EntryType::kNormal,
                             .data = SharedBytes::Static("more")};
  if (opened->writer->last_index() == UINT64_MAX) return 0;
  Require(opened->writer->Append({&entry, 1}, nullptr).has_value());
  Require(opened->writer->Sync().has_value());
  opened->writer.reset();
  const auto again = wal::Read(fs, kDir, {});
  Require(again.has_value());
  Require(!again->entries.empty() && again->entries.back() == entry);
  return 0;
}
