// Any bytes as a snapshot's stream from another member, or, with valid checksums around them, as
// its chunks. Reading must end in records or an error, the same however the stream is cut.
//
// The first byte of the input: bit 0, the rest are chunks (a length, then that many bytes of its
// body) that get a header, checksums and a trailer, else the stream itself. The second: the size of
// the pieces that the decoder is fed.
#include "mvcc/transfer/snapshot_decoder.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "mvcc/records/snapshot_format.h"

namespace {

using namespace kvorum;
using namespace kvorum::mvcc;

void Require(bool condition) {
  if (!condition) std::abort();
}

void AppendPart(std::string& stream, std::uint32_t& crc, std::uint32_t size,
                std::string_view body) {
  std::string size_field;
  snapshot_format::AppendNumber(size_field, size);
  crc = snapshot_format::PartCrc(crc, size_field, body);
  stream += size_field;
  snapshot_format::AppendNumber(stream, crc);
  stream += body;
}

std::string StreamOf(std::string_view chunks) {
  std::string stream(snapshot_format::kMagic);
  snapshot_format::AppendNumber(stream, snapshot_format::kVersion);
  std::uint32_t crc = Crc32c(0, stream);
  snapshot_format::AppendNumber(stream, crc);
  snapshot_format::Totals totals;
  while (!chunks.empty()) {
    const std::size_t size =
        std::min<std::size_t>(1 + static_cast<unsigned char>(chunks[0]), chunks.size() - 1);
    const std::string_view body = chunks.substr(1, size);
    chunks.remove_prefix(1 + size);
    if (body.empty()) break;
    AppendPart(stream, crc, static_cast<std::uint32_t>(size), body);
    std::uint64_t records = 0;
    for (std::string_view rest = body; rest.size() >= snapshot_format::kRecordHeadBytes;) {
      const std::size_t record = snapshot_format::kRecordHeadBytes +
                                 snapshot_format::LoadNumber<std::uint16_t>(rest, 1) +
                                 snapshot_format::LoadNumber<std::uint32_t>(rest, 3);
      if (record > rest.size()) break;
      rest.remove_prefix(record);
      ++records;
    }
    totals.AddBody(body, records);
  }
  std::string trailer;
  snapshot_format::AppendNumber(trailer, totals.records);
  snapshot_format::AppendNumber(trailer, totals.bytes);
  snapshot_format::AppendNumber(trailer, totals.crc);
  AppendPart(stream, crc, 0, trailer);
  return stream;
}

struct Outcome {
  bool whole = false;
  std::vector<std::pair<int, std::string>> keys;
  std::uint64_t value_bytes = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome Decode(std::string_view stream, std::size_t piece_bytes) {
  Outcome outcome;
  snapshot_format::Totals seen;
  SnapshotDecoder decoder(
      [&](const SharedBytes& body, const std::vector<SnapshotDecoder::Record>& records) {
        seen.AddBody(body.view(), records.size());
        for (const SnapshotDecoder::Record& record : records) {
          const auto tag = std::ranges::find(snapshot_format::kTags, record.bucket);
          std::pair<int, std::string> place{static_cast<int>(tag - snapshot_format::kTags.begin()),
                                            record.key};
          Require(!record.key.empty() && record.key.size() <= 510);
          Require(outcome.keys.empty() || outcome.keys.back() < place);
          outcome.keys.push_back(std::move(place));
          outcome.value_bytes += record.value.size();
        }
        return Result<void>();
      });
  while (!stream.empty()) {
    const std::string_view piece = stream.substr(0, piece_bytes);
    stream.remove_prefix(piece.size());
    if (decoder.Feed(piece).has_value()) continue;
    Require(!decoder.Feed("").has_value() && !decoder.Finish().has_value());
    return outcome;
  }
  const auto totals = decoder.Finish();
  outcome.whole = totals.has_value();
  Require(!outcome.whole || *totals == seen);
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 2, size - 2);
  const std::string stream = (data[0] & 1) != 0 ? StreamOf(rest) : std::string(rest);
  Require(Decode(stream, 1 + data[1]) == Decode(stream, SIZE_MAX));
  return 0;
}
