#include "datadir/log_summary.h"

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "api/entries/internal_request.h"
#include "proto/wire.h"
#include "wal/log_scan.h"

namespace kvorum::datadir {
namespace {

enum class EntryUse : std::uint8_t { kApplied, kEmpty, kOfVersion2, kUnknown };

// etcdserverpb.Request {ID = 1, Method = 2, ...}: the whole entry, or field 2 of a request.
bool IsOfVersion2(std::string_view data, bool is_whole_entry = true) {
  static constexpr std::array<std::string_view, 5> kMethods = {"PUT", "POST", "DELETE", "QGET",
                                                               "SYNC"};
  constexpr std::uint32_t kMethodField = 2;
  wire::Reader reader(data);
  while (reader.Next()) {
    if (reader.field() == kMethodField) {
      const std::string_view method = reader.Bytes();
      return reader.ok() && (std::ranges::find(kMethods, method) != kMethods.end() ||
                             (is_whole_entry && IsOfVersion2(method, /*is_whole_entry=*/false)));
    }
    reader.Skip();
  }
  return false;
}

EntryUse UseOf(const raft::Entry& entry) {
  if (entry.type == raft::EntryType::kConfChangeV2) return EntryUse::kUnknown;
  if (entry.type != raft::EntryType::kNormal) return EntryUse::kApplied;
  if (entry.data.empty()) return EntryUse::kEmpty;
  if (server::DecodeInternalRequest(entry.data.view()).has_value()) return EntryUse::kApplied;
  return IsOfVersion2(entry.data.view()) ? EntryUse::kOfVersion2 : EntryUse::kUnknown;
}

class Summary {
 public:
  Summary(raft::Index first_index, raft::Index applied) : applied_(applied), view_(first_index) {}

  Result<void> Visit(const wal::Record& record) {
    switch (record.type) {
      case wal::RecordType::kMetadata: {
        KV_TRY(metadata_, wal::DecodeMetadata(record.data));
        return {};
      }
      case wal::RecordType::kEntry:
        return VisitEntry(record.data);
      case wal::RecordType::kState: {
        KV_TRY(hard_state_, raft::DecodeHardState(record.data));
        Follow(view_.AddState(hard_state_));
        return {};
      }
      case wal::RecordType::kSnapshot: {
        KV_TRY(const wal::SnapshotMarker marker, wal::DecodeSnapshotMarker(record.data));
        Follow(view_.AddMarker(marker));
        return {};
      }
      case wal::RecordType::kCrc:
        return {};
    }
    return {};
  }

  LogSummary Finish() const {
    LogSummary log{.metadata = metadata_,
                   .hard_state = hard_state_,
                   .last_index = view_.last_index(),
                   .entries = after_.size(),
                   .skippable_to = applied_};
    for (const auto& [index, use] : after_) {
      const bool is_next = index == log.skippable_to + 1 && index <= hard_state_.commit;
      const bool does_nothing = use == EntryUse::kEmpty || use == EntryUse::kOfVersion2;
      if (is_next && does_nothing) {
        log.skippable_to = index;
        if (use == EntryUse::kOfVersion2 && !log.first_of_version_2.has_value())
          log.first_of_version_2 = index;
      } else if (use == EntryUse::kOfVersion2 || use == EntryUse::kUnknown) {
        log.unknown_entry = index;
        break;
      }
    }
    log.skippable_to_term = view_.TermAt(log.skippable_to).value_or(raft::Term{});
    return log;
  }

 private:
  Result<void> VisitEntry(std::string_view data) {
    // Borrowed: nothing of it is kept.
    KV_TRY(const raft::Entry entry, raft::DecodeEntry(SharedBytes::Static(data)));
    Follow(view_.AddEntry(entry.index, entry.term));
    after_.erase(after_.lower_bound(entry.index), after_.end());
    if (entry.index <= applied_) return {};
    after_.emplace(entry.index, UseOf(entry));
    return {};
  }
  void Follow(const wal::LogView::Change& change) {
    if (change.restarts) after_.clear();
  }

  const raft::Index applied_;
  wal::LogView view_;
  wal::Metadata metadata_{};
  raft::HardState hard_state_{};
  std::map<raft::Index, EntryUse> after_;
};

}  // namespace

Result<LogSummary> SummarizeLog(FileSystem& fs, const std::string& wal_dir, raft::Index applied,
                                raft::Index* readable_to) {
  KV_TRY(const std::vector<wal::SegmentName> segments, wal::ListSegments(fs, wal_dir));
  if (segments.empty()) return Fail(Code::kNotFound, "there is no WAL in " + wal_dir);
  Summary summary(segments.front().first_index, applied);
  auto end = wal::ScanLog(fs, wal_dir, segments,
                          [&](const wal::Record& record) { return summary.Visit(record); });
  LogSummary log = summary.Finish();
  if (readable_to != nullptr) *readable_to = log.last_index;
  if (!end.has_value()) return Fail(end.error());
  KV_TRY(log.markers, wal::ListMarkers(fs, wal_dir));
  log.first_index = segments.front().first_index;
  log.torn = std::move(end->torn);
  return log;
}

}  // namespace kvorum::datadir
