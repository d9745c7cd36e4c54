#include "wal/entry_cursor.h"

#include <algorithm>
#include <utility>

#include "wal/format.h"

namespace kvorum::wal {

Result<std::vector<raft::Entry>> EntryCursor::Read(raft::Index from, raft::Index to,
                                                   std::size_t max_size_bytes,
                                                   const TermOf& term_of) {
  if (!reader_.has_value() || next_ != from) {
    KV_RETURN_IF_ERROR(Seek(from));
  } else {
    KV_RETURN_IF_ERROR(reader_->Refresh());
  }
  std::vector<raft::Entry> entries;
  std::size_t size_bytes = 0;
  next_ = from;
  while (next_ <= to && (entries.empty() || size_bytes < max_size_bytes)) {
    KV_TRY(const SegmentReader::Step step, reader_->Next());
    if (step != SegmentReader::Step::kRecord) {
      KV_TRY(const bool has_more, NextSegment());
      if (has_more) continue;
      // The rest was being written when it was looked at.
      reader_.reset();
      if (!entries.empty()) return entries;
      return Fail(Code::kDataLoss,
                  "the log in " + dir_ + " lacks entry " + std::to_string(next_.value()));
    }
    const Record& record = reader_->record();
    if (record.type != RecordType::kEntry) continue;
    KV_TRY(const raft::Entry read, raft::DecodeEntry(SharedBytes::Static(record.data)));
    if (read.index != next_ || read.term != term_of(next_)) continue;
    KV_TRY(raft::Entry entry, raft::DecodeEntry(SharedBytes::Copy(record.data)));
    size_bytes += record.data.size();
    entries.push_back(std::move(entry));
    ++next_;
  }
  return entries;
}

// An entry that counts was written after the last segment had begun whose first index is not above
// it: that index was one more than the log's last one then.
Result<void> EntryCursor::Seek(raft::Index index) {
  KV_TRY(const std::vector<SegmentName> segments, ListSegments(fs_, dir_));
  const auto after = std::ranges::find_if(
      segments.rbegin(), segments.rend(),
      [&](const SegmentName& segment) { return segment.first_index <= index; });
  if (after == segments.rend())
    return Fail(Code::kNotFound, "the log begins after entry " + std::to_string(index.value()));
  return OpenSegment(*after, std::nullopt);
}

Result<bool> EntryCursor::NextSegment() {
  KV_TRY(const std::vector<SegmentName> segments, ListSegments(fs_, dir_));
  const auto next = std::ranges::find(segments, segment_.sequence + 1, &SegmentName::sequence);
  if (next == segments.end()) return false;
  KV_RETURN_IF_ERROR(OpenSegment(*next, reader_->checksums().rolling));
  return true;
}

Result<void> EntryCursor::OpenSegment(const SegmentName& name,
                                      std::optional<std::uint32_t> rolling_crc) {
  KV_TRY(SegmentReader reader,
         SegmentReader::Open(fs_, dir_ + "/" + name.FileName(), name, rolling_crc));
  reader_.emplace(std::move(reader));
  segment_ = name;
  return {};
}

}  // namespace kvorum::wal
