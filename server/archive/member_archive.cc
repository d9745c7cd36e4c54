#include "server/archive/member_archive.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <utility>

#include "api/storage_version.h"
#include "mvcc/store/store.h"
#include "server/replica/drive/bounded_source.h"
#include "server/replica/member/local_member.h"
#include "server/replica/recovery/local_member_options.h"
#include "server/state/raft_status.h"
#include "server/state/replicated_state.h"
#include "wal/segment_name.h"
#include "wal/wal.h"

namespace kvorum::server {
namespace {

// A store may be far away, and down for a while.
constexpr BoundedSource::Limits kImageLimits{.grace = std::chrono::hours(1),
                                             .bytes_per_second = std::uint64_t{1} << 20};
constexpr Duration kDurableLook = std::chrono::milliseconds(10);
constexpr Duration kDurableLimit = std::chrono::seconds(30);

class MemberImage final : public archive::ImageSource {
 public:
  MemberImage(const mvcc::Store::Recovered& content, std::int64_t revision,
              std::unique_ptr<mvcc::SnapshotSource> source)
      : index_(content.consistent_index),
        term_(content.term),
        revision_(revision),
        source_(std::move(source)) {}

  raft::Index index() const override { return index_; }
  raft::Term term() const override { return term_; }
  std::int64_t revision() const override { return revision_; }
  Result<SharedBytes> Next() override { return source_->Next(); }
  Result<void> Look() override { return source_->Look(); }

 private:
  const raft::Index index_;
  const raft::Term term_;
  const std::int64_t revision_;
  const std::unique_ptr<mvcc::SnapshotSource> source_;
};

Result<std::vector<KeptLog::Segment>> SegmentsAtStart(FileSystem& fs, const std::string& wal_dir) {
  KV_TRY(const std::vector<wal::SegmentName> names, wal::ListSegments(fs, wal_dir));
  std::vector<KeptLog::Segment> segments;
  for (const wal::SegmentName& name : names) {
    KV_TRY(const FileSystem::Status status, fs.Look(wal_dir + "/" + name.FileName()));
    segments.push_back({.first_index = name.first_index, .size_bytes = status.size_bytes});
  }
  return segments;
}

}  // namespace

void MemberNotes::AddTo(LocalMemberOptions& options) {
  options.on_applied = [this](raft::Index applied, std::int64_t revision) {
    marks.Applied(applied, revision);
  };
  options.release_bound = [this](raft::Index index, std::uint64_t written_bytes) {
    return kept.Bound(index, written_bytes);
  };
}

Result<std::unique_ptr<MemberArchive>> MemberArchive::Open(
    const Parts& parts, std::optional<archive::Departure> departure) {
  const LocalMember& member = parts.member;
  const wal::Metadata metadata{.node_id = member.member_id(), .cluster_id = member.cluster_id()};
  KV_TRY(const std::vector<KeptLog::Segment> segments, SegmentsAtStart(parts.fs, parts.wal_dir));
  parts.notes.kept.Begin(segments);
  parts.notes.marks.Begin(member.status().applied_index(), parts.member.store().revision());
  return std::unique_ptr<MemberArchive>(
      new MemberArchive(parts, {.cluster_id = metadata.cluster_id,
                                .member_id = metadata.node_id.value(),
                                .wal_metadata = wal::Encode(metadata),
                                .departure = std::move(departure)}));
}

MemberArchive::MemberArchive(const Parts& parts, Identity identity)
    : parts_(parts), identity_(std::move(identity)), terms_(parts.fs, parts.wal_dir) {}

bool MemberArchive::IsLeader() const { return parts_.member.status().leading_term() != 0; }

std::vector<archive::TimeMark> MemberArchive::MarksBehind(raft::Index index, std::size_t limit) {
  return parts_.notes.marks.Behind(index, limit);
}

archive::TimeMark MemberArchive::NewestMark() { return parts_.notes.marks.Newest(); }

// An applied entry is durable, and the last one of its index in the log.
Result<void> MemberArchive::UpdateTerms(raft::Index up_to) {
  if (up_to <= settled_) return {};
  const raft::Index applied = parts_.member.status().applied_index();
  KV_RETURN_IF_ERROR(terms_.Update());
  settled_ = applied;
  return {};
}

Result<std::vector<raft::Entry>> MemberArchive::Read(raft::Index from, raft::Index to,
                                                     std::size_t max_size_bytes) {
  to = std::min(to, parts_.member.status().applied_index());
  if (from > to) return std::vector<raft::Entry>();
  std::lock_guard lock(reading_);
  if (auto again = ReadAgain(from, to); !again.empty()) return again;
  KV_RETURN_IF_ERROR(UpdateTerms(to));
  if (from < terms_.first_index()) {
    return Fail(Code::kNotFound, "the log begins with entry " +
                                     std::to_string(terms_.first_index().value()) +
                                     ", and no longer has entry " + std::to_string(from.value()));
  }
  if (!cursor_.has_value()) cursor_.emplace(parts_.fs, parts_.wal_dir);
  auto entries = cursor_->Read(from, to, max_size_bytes,
                               [this](raft::Index index) { return terms_.TermAt(index); });
  if (!entries.has_value()) cursor_.reset();
  last_read_ = entries.value_or(std::vector<raft::Entry>());
  return entries;
}

// From the entries of the last call; empty if they lack the first one.
std::vector<raft::Entry> MemberArchive::ReadAgain(raft::Index from, raft::Index to) const {
  if (last_read_.empty() || from < last_read_.front().index || from > last_read_.back().index)
    return {};
  const auto begin =
      last_read_.begin() + static_cast<std::ptrdiff_t>(from - last_read_.front().index);
  const raft::Index last = std::min(to, last_read_.back().index);
  return {begin, begin + static_cast<std::ptrdiff_t>(last - from + 1)};
}

// The segments that the terms were read from may be gone meanwhile.
Result<raft::Index> MemberArchive::FirstIndex() {
  std::lock_guard lock(reading_);
  KV_RETURN_IF_ERROR(UpdateTerms(parts_.member.status().applied_index()));
  KV_TRY(const std::vector<wal::SegmentName> segments,
         wal::ListSegments(parts_.fs, parts_.wal_dir));
  const raft::Index first = segments.empty() ? raft::Index{} : segments.front().first_index;
  return std::max({first, terms_.first_index(), raft::Index{1}});
}

// So that the image has what was applied before; a full disk is when one is wanted most, and then
// it is of what the disk has.
Result<void> MemberArchive::MakeDurable() {
  mvcc::Store& store = parts_.member.store();
  if (store.CommitStalled()) return {};
  const auto is_done = std::make_shared<std::atomic<bool>>(false);
  store.Flush([is_done] { *is_done = true; });
  const TimePoint end = parts_.clock.Now() + kDurableLimit;
  while (!*is_done) {
    if (parts_.stop.WaitFor(kDurableLook)) return Fail(Code::kUnavailable, "the member stops");
    if (parts_.clock.Now() > end)
      return Fail(Code::kUnavailable, "the database does not become durable");
  }
  return {};
}

Result<std::unique_ptr<archive::ImageSource>> MemberArchive::OpenImage() {
  KV_RETURN_IF_ERROR(MakeDurable());
  mvcc::Store& store = parts_.member.store();
  std::int64_t revision = 0;
  KV_TRY(mvcc::Store::DurableSnapshot opened,
         store.OpenSnapshot([&](mvcc::Snapshot& content) -> Result<mvcc::EtcdImageOptions> {
           KV_TRY(revision, mvcc::Store::ReadRevision(content));
           KV_TRY(const MembershipView members, LoadMembership(content));
           return mvcc::EtcdImageOptions{.storage_version =
                                             ImageStorageVersion(members.cluster_version)};
         }));
  // Without room to begin with, no write makes the file grow.
  LocalMember* const member = &parts_.member;
  const bool had_space = member->DiskTakesWrites();
  auto source = std::make_unique<BoundedSource>(
      std::move(opened.source),
      BoundedSource::Database{
          .file_bytes = std::move(opened.file_bytes),
          .has_space = [member, had_space] { return !had_space || member->DiskTakesWrites(); },
          .in_use_bytes = store.SizeInUseBytes()},
      parts_.clock, kImageLimits);
  KV_RETURN_IF_ERROR(source->Use(mvcc::SnapshotFormat::kEtcd));
  return std::make_unique<MemberImage>(opened.content, revision, std::move(source));
}

// Followers read nothing: a file that they kept open could not be freed.
void MemberArchive::KeepBehind(raft::Index index) {
  parts_.notes.kept.Keep(index);
  parts_.notes.marks.Forget(index);
  if (IsLeader()) return;
  std::lock_guard lock(reading_);
  terms_.Close();
  cursor_.reset();
  last_read_.clear();
  settled_ = 0;
}

}  // namespace kvorum::server
