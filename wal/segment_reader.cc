#include "wal/segment_reader.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/crc32c.h"

namespace kvorum::wal {
namespace {

constexpr std::size_t kWindowBytes = std::size_t{256} << 10;
constexpr std::size_t kInspectBytes = std::size_t{1} << 20;
static_assert(kInspectBytes % kFrameAlignment == 0);
constexpr std::uint64_t kSectorBytes = 512;

std::uint64_t LoadWord(std::string_view bytes, std::size_t at) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes.data() + at, std::min(sizeof(word), bytes.size() - at));
  return word;
}

// The length without the zeros at the end; a new segment is mostly zeros.
std::size_t SizeWithoutZeros(std::string_view bytes) {
  static constexpr std::array<char, 4096> kZeros = {};
  std::size_t size = bytes.size();
  while (size >= kZeros.size() &&
         std::memcmp(bytes.data() + size - kZeros.size(), kZeros.data(), kZeros.size()) == 0) {
    size -= kZeros.size();
  }
  const std::size_t last = bytes.substr(0, size).find_last_not_of('\0');
  return last == std::string_view::npos ? 0 : last + 1;
}

}  // namespace

std::unexpected<Error> FailDamaged(const std::string& path, std::uint64_t offset,
                                   const std::string& reason) {
  return Fail(Code::kDataLoss,
              "WAL file " + path + " is damaged at offset " + std::to_string(offset) + ": " +
                  reason +
                  ". The log was not changed. Keep a copy of it, then remove this member from the "
                  "cluster and add it again with an empty data directory; if it is the only "
                  "member, restore the latest snapshot");
}

Result<SegmentReader> SegmentReader::Open(FileSystem& fs, const std::string& path, SegmentName name,
                                          std::optional<std::uint32_t> rolling_crc) {
  KV_TRY(std::unique_ptr<File> file, fs.Open(path, FileSystem::OpenMode::kRead));
  KV_TRY(const std::uint64_t size, file->Size());
  return SegmentReader(std::move(file), size, name, rolling_crc);
}

SegmentReader::SegmentReader(std::unique_ptr<File> file, std::uint64_t size_bytes, SegmentName name,
                             std::optional<std::uint32_t> rolling_crc)
    : file_(std::move(file)), size_bytes_(size_bytes), name_(name), expected_crc_(rolling_crc) {
  if (name_.sequence == 0) expected_crc_ = 0;
}

Result<SegmentReader::Step> SegmentReader::Next() {
  while (true) {
    if (size_bytes_ - offset_ < kFrameHeaderBytes) return Step::kEnd;
    KV_TRY(const std::string_view header, Load(offset_, kFrameHeaderBytes));
    const std::uint64_t length = LoadWord(header, 0);
    if (length == 0) return Step::kEnd;
    const std::optional<FrameSize> size = DecodeLength(length);
    if (!size.has_value()) return Bad("the record's length is malformed");
    const std::uint64_t left_bytes = size_bytes_ - offset_ - kFrameHeaderBytes;
    if (size->body_bytes() > left_bytes) {
      return Bad("the record's length of " + std::to_string(size->record_bytes) +
                 " bytes goes past the file's end, " + std::to_string(left_bytes) + " bytes on");
    }
    KV_TRY(const std::string_view frame,
           Load(offset_, static_cast<std::size_t>(kFrameHeaderBytes + size->body_bytes())));
    const std::optional<Record> record =
        DecodeRecord(frame.substr(kFrameHeaderBytes, size->record_bytes));
    if (!record.has_value()) return Bad("the record is malformed");
    if (SizeWithoutZeros(frame.substr(kFrameHeaderBytes + size->record_bytes)) != 0) {
      return Bad("the record's padding is not zero");
    }
    if (!FitsHead(record->type)) return Bad("the segment's head lacks a record");
    const bool is_crc = record->type == RecordType::kCrc;
    KV_TRY(const Step step, is_crc ? AcceptCrc(frame, *record) : Accept(frame, *record));
    if (step != Step::kRecord || !is_crc) return step;
  }
}

Result<void> SegmentReader::Refresh() {
  KV_TRY(size_bytes_, file_->Size());
  window_.clear();
  return {};
}

// The records of the head are identified by their position, so that a changed type does not pass.
bool SegmentReader::FitsHead(RecordType type) const {
  switch (records_) {
    case 0:
      return type == RecordType::kCrc;
    case 1:
      return type == RecordType::kMetadata;
    case 2:
      return type == (name_.sequence == 0 ? RecordType::kSnapshot : RecordType::kState);
    default:
      return true;
  }
}

Result<SegmentReader::Step> SegmentReader::Accept(std::string_view frame, const Record& record) {
  const std::uint32_t rolling = Crc32c(checksums_.rolling, record.data);
  if (rolling != record.crc) return Bad("the record does not match its checksum");
  checksums_.rolling = rolling;
  record_ = record;
  record_offset_ = offset_;
  sealed_ = false;
  Consume(frame, record.data.size());
  return Step::kRecord;
}

Result<SegmentReader::Step> SegmentReader::AcceptCrc(std::string_view frame, const Record& record) {
  if (records_ == 0) checksums_.rolling = expected_crc_.value_or(record.crc);
  if (record.crc != checksums_.rolling) {
    return Bad("the checksum that is carried on does not match the records before");
  }
  if (record.data.empty()) {
    Consume(frame, 0);
    return Step::kRecord;
  }
  const std::optional<Seal> seal = DecodeSeal(record.data, name_.sequence, record.crc);
  if (!seal.has_value() || seal->offset != offset_) return Bad("the seal is malformed");
  if (seal->frame_crc != checksums_.frames) {
    return FailDamaged(path(), offset_,
                       "the lengths or types of the records before it were changed");
  }
  told_size_bytes_ = std::max(told_size_bytes_, seal->file_size_bytes);
  synced_offset_ = std::max(synced_offset_, seal->synced_offset);
  sealed_ = seal->synced_offset == offset_;
  Consume(frame, record.data.size());
  checksums_.frames = 0;
  return Step::kRecord;
}

void SegmentReader::Consume(std::string_view frame, std::size_t data_bytes) {
  const FrameSize size = *DecodeLength(LoadWord(frame, 0));
  checksums_.frames = Crc32c(checksums_.frames,
                             frame.substr(0, kFrameHeaderBytes + size.record_bytes - data_bytes));
  offset_ += frame.size();
  ++records_;
}

SegmentReader::Step SegmentReader::Bad(std::string reason) {
  bad_reason_ = std::move(reason);
  return Step::kBad;
}

Result<std::string_view> SegmentReader::Load(std::uint64_t offset, std::size_t size_bytes) {
  if (offset < window_offset_ || offset + size_bytes > window_offset_ + window_.size()) {
    window_offset_ = offset;
    window_.resize(static_cast<std::size_t>(
        std::min<std::uint64_t>(std::max(size_bytes, kWindowBytes), size_bytes_ - offset)));
    KV_TRY(const std::size_t got, file_->ReadAt(offset, window_.data(), window_.size()));
    if (got < size_bytes) {
      return Fail(Code::kDataLoss, path() + " became shorter while it was read");
    }
    window_.resize(got);
  }
  return std::string_view(window_).substr(static_cast<std::size_t>(offset - window_offset_),
                                          size_bytes);
}

Result<SegmentReader::Tail> SegmentReader::InspectTail() {
  Tail tail;
  std::string bytes;
  for (std::uint64_t at = offset_; at < size_bytes_; at += kInspectBytes) {
    // Windows overlap by a seal, so that none is cut in two.
    bytes.resize(static_cast<std::size_t>(
        std::min<std::uint64_t>(kInspectBytes + kMaxSealFrameBytes, size_bytes_ - at)));
    KV_TRY(const std::size_t got, file_->ReadAt(at, bytes.data(), bytes.size()));
    const std::string_view window = std::string_view(bytes).substr(0, got);
    const std::size_t used = SizeWithoutZeros(window);
    if (used == 0) continue;
    tail.end_offset = at + used;
    for (std::size_t i = 0; i < std::min(used, kInspectBytes); i += kFrameAlignment) {
      const std::optional<Seal> seal = FindSealAt(window.substr(i), at + i, name_.sequence);
      if (!seal.has_value()) continue;
      tail.has_seal = true;
      tail.synced_offset = std::max(tail.synced_offset, seal->synced_offset);
    }
  }
  return tail;
}

Result<bool> SegmentReader::LooksTornWithoutSeals() {
  KV_TRY(const std::string_view header, Load(offset_, kFrameHeaderBytes));
  // Etcd reads a length so, even one that DecodeLength refuses.
  const std::uint64_t length = LoadWord(header, 0);
  const std::uint64_t padding = (length >> 63U) != 0 ? (length >> 56U) & 7U : 0;
  const std::uint64_t record_bytes = length & ~(std::uint64_t{0xff} << 56U);
  std::uint64_t at = offset_ + kFrameHeaderBytes;
  if (record_bytes + padding > size_bytes_ - at) return true;
  const std::uint64_t end = at + record_bytes;  // padding is zero anyway
  while (at < end) {
    const std::uint64_t size = std::min(kSectorBytes - at % kSectorBytes, end - at);
    KV_TRY(const std::string_view sector, Load(at, static_cast<std::size_t>(size)));
    if (SizeWithoutZeros(sector) == 0) return true;
    at += size;
  }
  return false;
}

}  // namespace kvorum::wal
