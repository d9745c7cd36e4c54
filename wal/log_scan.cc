#include "wal/log_scan.h"

namespace kvorum::wal {
namespace {

// Decides whether the bad frame at the end of the last segment is a torn write or damage
// (wal/format.h, CRASHES).
Result<std::optional<TornTail>> JudgeTail(SegmentReader& reader, SegmentReader::Step step) {
  if (reader.told_size_bytes() > reader.size_bytes()) {
    return FailDamaged(
        reader.path(), reader.size_bytes(),
        "the file ends here, and was " + std::to_string(reader.told_size_bytes()) + " bytes long");
  }
  // One of ours has a seal next. An etcd that repairs its log cuts it behind any record.
  if (!reader.has_more_than_head() && reader.size_bytes() - reader.offset() < kMaxSealFrameBytes) {
    return FailDamaged(reader.path(), reader.size_bytes(),
                       "the file ends within the segment's head");
  }
  KV_TRY(const SegmentReader::Tail tail, reader.InspectTail());
  if (step == SegmentReader::Step::kEnd && tail.end_offset == 0) return std::nullopt;
  const std::string reason = step == SegmentReader::Step::kBad
                                 ? reader.bad_reason()
                                 : "records end here, but not all that follows is zero";
  if (tail.synced_offset > reader.offset())
    return FailDamaged(reader.path(), reader.offset(), reason);
  const bool has_seals = reader.told_size_bytes() != 0 || tail.has_seal;
  if (step == SegmentReader::Step::kBad && !has_seals) {
    KV_TRY(const bool is_torn, reader.LooksTornWithoutSeals());
    if (!is_torn) return FailDamaged(reader.path(), reader.offset(), reason);
  }
  return TornTail{.file = reader.path(),
                  .offset = reader.offset(),
                  .size_bytes = tail.end_offset - reader.offset(),
                  .reason = reason};
}

}  // namespace

Result<LogEnd> ScanLog(FileSystem& fs, const std::string& dir,
                       std::span<const SegmentName> segments, const RecordVisitor& visit) {
  LogEnd end;
  std::optional<std::uint32_t> rolling_crc;
  for (const SegmentName& name : segments) {
    KV_TRY(SegmentReader reader,
           SegmentReader::Open(fs, dir + "/" + name.FileName(), name, rolling_crc));
    SegmentReader::Step step = SegmentReader::Step::kRecord;
    while (true) {
      KV_TRY(step, reader.Next());
      if (step != SegmentReader::Step::kRecord) break;
      if (const Result<void> visited = visit(reader.record()); !visited.has_value()) {
        return FailDamaged(reader.path(), reader.record_offset(), visited.error().message);
      }
    }
    const bool is_last = &name == &segments.back();
    if (step == SegmentReader::Step::kBad && (!is_last || !reader.has_head())) {
      return FailDamaged(reader.path(), reader.offset(), reader.bad_reason());
    }
    if (!reader.has_head()) {
      return FailDamaged(reader.path(), reader.offset(), "the segment's head lacks a record");
    }
    if (is_last) {
      KV_TRY(end.torn, JudgeTail(reader, step));
      end.offset = reader.offset();
      end.synced_offset = reader.synced_offset();
      end.sealed = reader.sealed();
    }
    end.checksums = reader.checksums();
    rolling_crc = end.checksums.rolling;
  }
  return end;
}

}  // namespace kvorum::wal
