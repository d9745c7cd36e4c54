// Any bytes in a log: in place of a segment's frames, or, with valid frames and checksums around
// them, in place of its records. Reading must end in contents or an error, and a log that opens
// must take an entry and give it back.
//
// The first byte of the input: bit 0, the log has a second segment; bit 1, the rest are records (a
// type, a length, data), else bytes of the first segment.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/disk/sim_file_system.h"
#include "wal/batch.h"
#include "wal/segment_name.h"
#include "wal/segment_reader.h"
#include "wal/wal.h"

namespace {

using namespace kvorum;

constexpr const char* kDir = "/wal";
constexpr wal::Metadata kMetadata = {.node_id = 1, .cluster_id = 2};
const wal::Options kOptions = {.segment_size_bytes = 1024,
                               .reserve_size_bytes = 0,
                               .zero_segments = false,
                               .durable_index = {},
                               .background = nullptr};

void Require(bool condition) {
  if (!condition) std::abort();
}

void Write(FileSystem& fs, const std::string& path, std::uint64_t offset,
           std::span<const std::string_view> parts) {
  auto file = fs.Open(path, FileSystem::OpenMode::kReadWrite);
  Require(file.has_value() && (*file)->WriteAt(offset, parts).has_value());
}

// Appends the records that the bytes describe.
void WriteRecords(FileSystem& fs, const wal::SegmentName& name, std::string_view bytes) {
  const std::string path = std::string(kDir) + "/" + name.FileName();
  auto reader = wal::SegmentReader::Open(fs, path, name, std::nullopt);
  Require(reader.has_value());
  while (*reader->Next() == wal::SegmentReader::Step::kRecord) {
  }
  wal::Batch batch;
  batch.Begin(reader->checksums(), (bytes.size() + 1) * wal::kMaxSealFrameBytes);
  while (bytes.size() >= 2) {
    const auto type = static_cast<wal::RecordType>(1 + static_cast<unsigned char>(bytes[0]) % 5);
    const std::size_t length =
        std::min<std::size_t>(static_cast<unsigned char>(bytes[1]), bytes.size() - 2);
    if (type == wal::RecordType::kCrc) {
      batch.AddSeal({.sequence = name.sequence, .offset = reader->offset()});
    } else {
      batch.AddRecord(type, bytes.substr(2, length));
    }
    bytes.remove_prefix(2 + length);
  }
  Write(fs, path, reader->offset(), batch.Parts());
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
  if ((data[0] & 2) != 0) {
    WriteRecords(fs, wal::ListSegments(fs, kDir)->back(), bytes);
  } else {
    const std::array<std::string_view, 1> parts = {bytes};
    Write(fs, std::string(kDir) + "/" + wal::SegmentName{}.FileName(), 0, parts);
  }

  static_cast<void>(wal::ListMarkers(fs, kDir));
  auto opened = wal::Open(fs, kDir, {}, kOptions);
  if (!opened.has_value()) return 0;
  // A marker may have moved the log past its entries; it cannot be read from its begin then.
  const std::vector<raft::Entry>& entries = opened->contents.entries;
  const raft::Index last = entries.empty() ? 0 : entries.back().index;
  if (opened->writer->last_index() != last) return 0;
  const raft::Entry entry = {.term = opened->contents.hard_state.term,
                             .index = last + 1,
                             .type = raft::EntryType::kNormal,
                             .data = SharedBytes::Static("more")};
  Require(opened->writer->Append({&entry, 1}, nullptr).has_value());
  Require(opened->writer->Sync().has_value());
  opened->writer.reset();
  const auto again = wal::Read(fs, kDir, {});
  Require(again.has_value());
  Require(!again->entries.empty() && again->entries.back() == entry);
  return 0;
}
