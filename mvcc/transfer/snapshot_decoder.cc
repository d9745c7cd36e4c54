#include "mvcc/transfer/snapshot_decoder.h"

#include <algorithm>
#include <utility>

#include "mvcc/records/revision.h"

namespace kvorum::mvcc {

namespace format = snapshot_format;

std::unexpected<Error> SnapshotDecoder::Refuse(std::string_view why) {
  return Fail(Code::kDataLoss, "mvcc: the snapshot's stream is damaged at byte " +
                                   std::to_string(offset_) + ": " + std::string(why));
}

std::size_t SnapshotDecoder::Wanted() const {
  switch (part_) {
    case Part::kHeader:
      return format::kHeaderBytes;
    case Part::kHead:
      return format::kChunkHeadBytes;
    case Part::kBody:
      return body_bytes_;
    case Part::kTrailer:
      return format::kTrailerBodyBytes;
    case Part::kEnd:
      return 0;
  }
  return 0;
}

Result<void> SnapshotDecoder::Feed(std::string_view bytes) {
  while (!bytes.empty() && !failed_.has_value()) {
    Result<void> taken;
    if (part_ == Part::kEnd) {
      taken = Refuse("bytes behind the trailer");
    } else {
      // Memory grows with the bytes that have arrived, not with the size that a field claims.
      const std::size_t size = std::min(Wanted() - part_bytes_.size(), bytes.size());
      part_bytes_.append(bytes.substr(0, size));
      bytes.remove_prefix(size);
      offset_ += size;
      if (part_bytes_.size() < Wanted()) return {};
      taken = TakePart();
    }
    if (!taken.has_value()) failed_ = taken.error();
  }
  if (failed_.has_value()) return Fail(*failed_);
  return {};
}

Result<snapshot_format::Totals> SnapshotDecoder::Finish() const {
  if (failed_.has_value()) return Fail(*failed_);
  if (part_ != Part::kEnd) {
    return Fail(Code::kDataLoss,
                "mvcc: the snapshot's stream ends early, at byte " + std::to_string(offset_));
  }
  return totals_;
}

Result<void> SnapshotDecoder::TakePart() {
  Result<void> taken;
  switch (part_) {
    case Part::kHeader:
      taken = TakeHeader();
      break;
    case Part::kHead:
      taken = TakeHead();
      break;
    case Part::kBody:
      taken = TakeBody();
      break;
    case Part::kTrailer:
      taken = TakeTrailer();
      break;
    case Part::kEnd:
      break;
  }
  part_bytes_.clear();
  return taken;
}

Result<void> SnapshotDecoder::TakeHeader() {
  const std::string_view told =
      std::string_view(part_bytes_).substr(0, format::kHeaderBytes - sizeof(std::uint32_t));
  if (!told.starts_with(format::kMagic)) return Refuse("it is not a kvorum snapshot");
  crc_ = Crc32c(0, told);
  if (format::LoadNumber<std::uint32_t>(part_bytes_, told.size()) != crc_)
    return Refuse("checksum mismatch");
  const auto version = format::LoadNumber<std::uint32_t>(told, format::kMagic.size());
  if (version != format::kVersion)
    return Refuse("its format " + std::to_string(version) + " is not known here");
  part_ = Part::kHead;
  return {};
}

Result<void> SnapshotDecoder::TakeHead() {
  size_field_ = part_bytes_.substr(0, sizeof(std::uint32_t));
  body_bytes_ = format::LoadNumber<std::uint32_t>(part_bytes_, 0);
  told_crc_ = format::LoadNumber<std::uint32_t>(part_bytes_, sizeof(std::uint32_t));
  if (body_bytes_ > format::kMaxBodyBytes) return Refuse("a chunk that is too large");
  part_ = body_bytes_ == 0 ? Part::kTrailer : Part::kBody;
  return {};
}

Result<void> SnapshotDecoder::TakeBody() {
  const SharedBytes body = SharedBytes::Own(std::exchange(part_bytes_, {}));
  crc_ = format::PartCrc(crc_, size_field_, body.view());
  if (crc_ != told_crc_) return Refuse("checksum mismatch");
  std::vector<Record> records;
  for (std::string_view rest = body.view(); !rest.empty();) {
    KV_TRY(const Record record, TakeRecord(rest));
    records.push_back(record);
  }
  totals_.AddBody(body.view(), records.size());
  last_key_ = records.back().key;
  part_ = Part::kHead;
  return on_chunk_(body, std::move(records));
}

Result<SnapshotDecoder::Record> SnapshotDecoder::TakeRecord(std::string_view& rest) {
  if (rest.size() < format::kRecordHeadBytes) return Refuse("a record's head is cut off");
  const auto tag = format::LoadNumber<std::uint8_t>(rest, 0);
  const std::size_t key_bytes = format::LoadNumber<std::uint16_t>(rest, 1);
  const std::size_t value_bytes = format::LoadNumber<std::uint32_t>(rest, 3);
  rest.remove_prefix(format::kRecordHeadBytes);
  if (tag == 0 || tag > format::kTags.size()) return Refuse("an unknown bucket");
  if (key_bytes == 0 || key_bytes > kMaxBucketKeySizeBytes || key_bytes > rest.size() ||
      value_bytes > rest.size() - key_bytes) {
    return Refuse("a record that does not fit its chunk");
  }
  const Record record{.bucket = format::kTags[tag - 1U],
                      .key = rest.substr(0, key_bytes),
                      .value = rest.substr(key_bytes, value_bytes)};
  rest.remove_prefix(key_bytes + value_bytes);
  if (tag < last_tag_ || (tag == last_tag_ && record.key <= last_key_))
    return Refuse("records that do not ascend");
  if (record.bucket == Bucket::kKey) {
    const auto revision = RevisionKey::Decode(record.key);
    if (!revision.has_value() || revision->revision.main < 0 || revision->revision.sub < 0)
      return Refuse("a revision that cannot be");
  }
  last_tag_ = tag;
  last_key_ = record.key;
  return record;
}

Result<void> SnapshotDecoder::TakeTrailer() {
  crc_ = format::PartCrc(crc_, size_field_, part_bytes_);
  if (crc_ != told_crc_) return Refuse("checksum mismatch");
  const format::Totals told{.records = format::LoadNumber<std::uint64_t>(part_bytes_, 0),
                            .bytes = format::LoadNumber<std::uint64_t>(part_bytes_, 8),
                            .crc = format::LoadNumber<std::uint32_t>(part_bytes_, 16)};
  if (told != totals_) return Refuse("the trailer tells of other records");
  part_ = Part::kEnd;
  return {};
}

}  // namespace kvorum::mvcc
