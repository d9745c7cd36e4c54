// Decodes the stream of mvcc/records/snapshot_format.h, in pieces of any size. Used by one thread
// at a time. Bytes that no source wrote are kDataLoss, after which every call is refused; nothing
// of a chunk is passed on before its checksum has matched. Memory: one chunk.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/shared_bytes.h"
#include "mvcc/records/bucket.h"
#include "mvcc/records/snapshot_format.h"

namespace kvorum::mvcc {

class SnapshotDecoder {
 public:
  struct Record {
    Bucket bucket = Bucket::kKey;
    std::string_view key;
    std::string_view value;
  };
  // The records refer to the body.
  using OnChunk = std::function<Result<void>(SharedBytes body, std::vector<Record> records)>;

  explicit SnapshotDecoder(OnChunk on_chunk) : on_chunk_(std::move(on_chunk)) {}

  Result<void> Feed(std::string_view bytes);
  // The trailer's content; an error if the stream is incomplete.
  Result<snapshot_format::Totals> Finish() const;

 private:
  enum class Part : std::uint8_t { kHeader, kHead, kBody, kTrailer, kEnd };

  std::size_t Wanted() const;
  Result<void> TakePart();
  Result<void> TakeHeader();
  Result<void> TakeHead();
  Result<void> TakeBody();
  Result<void> TakeTrailer();
  Result<Record> TakeRecord(std::string_view& rest);
  std::unexpected<Error> Refuse(std::string_view why);

  const OnChunk on_chunk_;
  Part part_ = Part::kHeader;
  std::string part_bytes_;  // of the incomplete part
  std::uint64_t offset_ = 0;
  std::string size_field_;
  std::uint32_t told_crc_ = 0;
  std::size_t body_bytes_ = 0;
  std::uint32_t crc_ = 0;
  std::uint8_t last_tag_ = 0;
  std::string last_key_;
  snapshot_format::Totals totals_;
  std::optional<Error> failed_;
};

}  // namespace kvorum::mvcc
