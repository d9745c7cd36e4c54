#include "wal/log_terms.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "wal/format.h"
#include "wal/marker.h"

namespace kvorum::wal {
namespace {

// A segment may be purged between a listing and its opening, which is rare.
constexpr int kMaxListings = 100;

}  // namespace

// The segments are listed before the current one is read on: one with a successor is complete.
Result<void> LogTerms::Update() {
  int listings = 0;
  while (true) {
    KV_TRY(const std::vector<SegmentName> segments, ListSegments(fs_, dir_));
    if (segments.empty()) return Fail(Code::kNotFound, "there is no log in " + dir_);
    const auto next = std::ranges::find(segments, segment_.sequence + 1, &SegmentName::sequence);
    const bool has_next = next != segments.end();
    // Neither the segment nor what follows it is there any more.
    if (!has_next && segments.back().sequence != segment_.sequence) Close();
    Result<void> read;
    if (!reader_.has_value()) {
      read = Begin(segments.front());
    } else {
      KV_TRY(const bool is_whole, ReadOn());
      if (!has_next) return {};
      if (!is_whole) return FailDamaged(reader_->path(), reader_->offset(), reader_->bad_reason());
      read = OpenSegment(*next, reader_->checksums().rolling);
    }
    if (read.has_value()) continue;
    if (read.error().code != Code::kNotFound || ++listings == kMaxListings) return read;
    Close();
  }
}

raft::Index LogTerms::first_index() const {
  return view_.has_value() ? std::max(view_->first_index(), raft::Index{1}) : raft::Index{};
}

raft::Term LogTerms::TermAt(raft::Index index) const {
  return view_.has_value() ? view_->TermAt(index).value_or(raft::Term{}) : raft::Term{};
}

void LogTerms::Close() {
  reader_.reset();
  view_.reset();
}

Result<void> LogTerms::Begin(const SegmentName& first) {
  view_.emplace(first.first_index);
  return OpenSegment(first, std::nullopt);
}

Result<void> LogTerms::OpenSegment(const SegmentName& name,
                                   std::optional<std::uint32_t> rolling_crc) {
  KV_TRY(SegmentReader reader,
         SegmentReader::Open(fs_, dir_ + "/" + name.FileName(), name, rolling_crc));
  reader_.emplace(std::move(reader));
  segment_ = name;
  return {};
}

// Returns false if the next record is damaged or still being written.
Result<bool> LogTerms::ReadOn() {
  KV_RETURN_IF_ERROR(reader_->Refresh());
  while (true) {
    KV_TRY(const SegmentReader::Step step, reader_->Next());
    if (step != SegmentReader::Step::kRecord) return step == SegmentReader::Step::kEnd;
    KV_RETURN_IF_ERROR(Add(reader_->record()));
  }
}

Result<void> LogTerms::Add(const Record& record) {
  switch (record.type) {
    case RecordType::kEntry: {
      KV_TRY(const raft::Entry entry, raft::DecodeEntry(SharedBytes::Static(record.data)));
      view_->AddEntry(entry.index, entry.term);
      return {};
    }
    case RecordType::kState: {
      KV_TRY(const raft::HardState state, raft::DecodeHardState(record.data));
      view_->AddState(state);
      return {};
    }
    case RecordType::kSnapshot: {
      KV_TRY(const SnapshotMarker marker, DecodeSnapshotMarker(record.data));
      view_->AddMarker(marker);
      return {};
    }
    case RecordType::kMetadata:
    case RecordType::kCrc:
      return {};
  }
  return {};
}

}  // namespace kvorum::wal
