#include "wal/format.h"

#include <array>
#include <bit>
#include <cstring>

#include "base/crc32c.h"
#include "proto/fields.h"
#include "proto/wire.h"

namespace kvorum::wal {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr int kTopByteShift = 56;
constexpr std::uint64_t kRecordSizeMask = (std::uint64_t{1} << kTopByteShift) - 1;
constexpr std::uint64_t kPaddedFlag = 0x80;

constexpr wire::Row kRecordRows[] = {wire::Bare(1, "type", wire::FieldType::kInt64),
                                     wire::Bare(2, "crc", wire::FieldType::kUint32),
                                     wire::Bare(3, "data", wire::FieldType::kBytes)};
constexpr std::uint32_t kTypeField = wire::NumberOf(kRecordRows, "type");
constexpr std::uint32_t kCrcField = wire::NumberOf(kRecordRows, "crc");
constexpr std::uint32_t kDataField = wire::NumberOf(kRecordRows, "data");

constexpr std::string_view kSealMagic = "kvs1";
constexpr std::size_t kSealFrameCrcAt = 4;
constexpr std::size_t kSealOffsetAt = 8;
constexpr std::size_t kSealSyncedAt = 16;
constexpr std::size_t kSealFileSizeAt = 24;
constexpr std::size_t kSealOwnCrcAt = 32;

template <class Word>
Word Load(std::string_view bytes, std::size_t at) {
  Word word;
  std::memcpy(&word, bytes.data() + at, sizeof(word));
  return word;
}

template <class Word>
void Store(std::string& bytes, std::size_t at, Word word) {
  std::memcpy(bytes.data() + at, &word, sizeof(word));
}

template <class Word>
std::uint32_t AddWord(std::uint32_t crc, Word word) {
  std::array<char, sizeof(Word)> bytes;
  std::memcpy(bytes.data(), &word, sizeof(word));
  return Crc32c(crc, {bytes.data(), bytes.size()});
}

std::uint32_t SealOwnCrc(std::string_view data, std::uint64_t sequence, std::uint32_t record_crc) {
  return Crc32c(AddWord(AddWord(0, sequence), record_crc), data.substr(0, kSealOwnCrcAt));
}

}  // namespace

constexpr wire::Table kRecordTable = wire::ByHand("walpb.Record", kRecordRows);

FrameSize FrameSizeOf(std::uint64_t record_bytes) {
  return {record_bytes, (kFrameAlignment - record_bytes % kFrameAlignment) % kFrameAlignment};
}

std::uint64_t EncodeLength(const FrameSize& size) {
  if (size.padding_bytes == 0) return size.record_bytes;
  return size.record_bytes | (kPaddedFlag | size.padding_bytes) << kTopByteShift;
}

std::optional<FrameSize> DecodeLength(std::uint64_t length) {
  const FrameSize size = FrameSizeOf(length & kRecordSizeMask);
  if (length == 0 || EncodeLength(size) != length) return std::nullopt;
  return size;
}

char* WriteRecordPrefix(char* out, RecordType type, std::uint32_t crc, std::size_t data_bytes) {
  out = wire::WriteUint(out, kTypeField, static_cast<std::uint64_t>(type));
  out = wire::WriteUint(out, kCrcField, crc);
  if (data_bytes == 0) return out;
  return wire::WriteVarint(wire::WriteTag(out, kDataField, wire::Type::kLengthDelimited),
                           data_bytes);
}

std::size_t RecordPrefixSize(std::uint32_t crc, std::size_t data_bytes) {
  const std::size_t size = 2 + wire::TagSize(kCrcField) + wire::VarintSize(crc);
  return data_bytes == 0 ? size : size + wire::TagSize(kDataField) + wire::VarintSize(data_bytes);
}

std::optional<Record> DecodeRecord(std::string_view bytes) {
  wire::Reader reader(bytes);
  Record record;
  if (!reader.Next() || reader.field() != kTypeField) return std::nullopt;
  const std::uint64_t type = reader.Varint();
  if (type < static_cast<std::uint64_t>(RecordType::kMetadata) ||
      type > static_cast<std::uint64_t>(RecordType::kSnapshot)) {
    return std::nullopt;
  }
  record.type = static_cast<RecordType>(type);
  if (!reader.Next() || reader.field() != kCrcField) return std::nullopt;
  const std::uint64_t crc = reader.Varint();
  if (crc > UINT32_MAX) return std::nullopt;
  record.crc = static_cast<std::uint32_t>(crc);
  if (reader.Next()) {
    if (reader.field() != kDataField) return std::nullopt;
    record.data = reader.Bytes();
    if (reader.Next()) return std::nullopt;
  }
  // The varints must have the shortest encoding, or else a changed byte could go unseen.
  if (!reader.ok() ||
      bytes.size() != RecordPrefixSize(record.crc, record.data.size()) + record.data.size()) {
    return std::nullopt;
  }
  return record;
}

std::string EncodeSeal(const Seal& seal, std::uint64_t sequence, std::uint32_t record_crc) {
  std::string data(kSealBytes, '\0');
  data.replace(0, kSealMagic.size(), kSealMagic);
  Store(data, kSealFrameCrcAt, seal.frame_crc);
  Store(data, kSealOffsetAt, seal.offset);
  Store(data, kSealSyncedAt, seal.synced_offset);
  Store(data, kSealFileSizeAt, seal.file_size_bytes);
  Store(data, kSealOwnCrcAt, SealOwnCrc(data, sequence, record_crc));
  return data;
}

std::optional<Seal> DecodeSeal(std::string_view data, std::uint64_t sequence,
                               std::uint32_t record_crc) {
  if (data.size() != kSealBytes || !data.starts_with(kSealMagic) ||
      Load<std::uint32_t>(data, kSealOwnCrcAt) != SealOwnCrc(data, sequence, record_crc)) {
    return std::nullopt;
  }
  return Seal{.frame_crc = Load<std::uint32_t>(data, kSealFrameCrcAt),
              .offset = Load<std::uint64_t>(data, kSealOffsetAt),
              .synced_offset = Load<std::uint64_t>(data, kSealSyncedAt),
              .file_size_bytes = Load<std::uint64_t>(data, kSealFileSizeAt)};
}

std::optional<Seal> FindSealAt(std::string_view bytes, std::uint64_t offset,
                               std::uint64_t sequence) {
  if (bytes.size() < kFrameHeaderBytes + kSealBytes) return std::nullopt;
  const std::optional<FrameSize> size = DecodeLength(Load<std::uint64_t>(bytes, 0));
  if (!size.has_value() || size->record_bytes > kSealBytes + kMaxRecordOverheadBytes ||
      size->record_bytes > bytes.size() - kFrameHeaderBytes) {
    return std::nullopt;
  }
  const std::optional<Record> record =
      DecodeRecord(bytes.substr(kFrameHeaderBytes, size->record_bytes));
  if (!record.has_value() || record->type != RecordType::kCrc) return std::nullopt;
  const std::optional<Seal> seal = DecodeSeal(record->data, sequence, record->crc);
  return seal.has_value() && seal->offset == offset ? seal : std::nullopt;
}

}  // namespace kvorum::wal
