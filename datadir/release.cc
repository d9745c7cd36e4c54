#include "datadir/release.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "api/entries/conf_state_json.h"
#include "api/entries/v2_membership.h"
#include "api/member.h"
#include "api/member_id.h"
#include "api/storage_version.h"
#include "bbolt/reader.h"
#include "datadir/archive_origin.h"
#include "datadir/layout.h"
#include "datadir/log_summary.h"
#include "datadir/snapshot_files.h"
#include "mvcc/store/store.h"
#include "mvcc/transfer/etcd_image.h"
#include "mvcc/transfer/etcd_import.h"
#include "wal/wal.h"

namespace kvorum::datadir {
namespace {

// Entries that the database has are not kept in memory beyond this.
constexpr std::size_t kEntryBytes = std::size_t{64} << 20;

// A member's buckets as far as its snapshot file tells of them.
Result<server::MembershipView> ReadMembers(mvcc::Snapshot& content) {
  server::MembershipView view;
  Result<void> read;
  KV_RETURN_IF_ERROR(
      content.Scan(mvcc::Bucket::kMembers, {}, {}, [&](std::string_view, std::string_view value) {
        auto member = server::DecodeMemberJson(value);
        if (!member.has_value()) {
          read = std::unexpected(std::move(member).error());
          return false;
        }
        const raft::MemberId id = member->id;
        view.members.emplace(id, *std::move(member));
        return true;
      }));
  KV_RETURN_IF_ERROR(read);
  KV_RETURN_IF_ERROR(content.Scan(mvcc::Bucket::kMembersRemoved, {}, {},
                                  [&](std::string_view key, std::string_view) {
                                    if (const auto id = server::ParseIdText(key))
                                      view.removed.insert(raft::MemberId{*id});
                                    return true;
                                  }));
  KV_TRY(const auto version, content.Get(mvcc::Bucket::kCluster, "clusterVersion"));
  view.cluster_version = version.value_or("");
  return view;
}

class Releasing {
 public:
  Releasing(FileSystem& fs, const ReleaseOptions& options)
      : fs_(fs), options_(options), layout_(options.data_dir, options.wal_dir) {}

  Result<Released> Run() {
    KV_TRY(const MemberLock lock, MemberLock::Take(fs_, layout_));
    KV_TRY(const DatabaseOwner owner, OwnerOfDatabase(fs_, layout_.database));
    KV_TRY(const bool is_ours, IsOurs(fs_, layout_));
    result_.was_etcds = !is_ours && owner == DatabaseOwner::kEtcd;
    if (!is_ours && !result_.was_etcds) {
      return Fail(Code::kFailedPrecondition,
                  "there is no member of kvorum in " + layout_.root +
                      (owner == DatabaseOwner::kKvorum ? "; finish its adoption first" : ""));
    }
    if (is_ours) KV_RETURN_IF_ERROR(RunLocked(owner));
    return Finish();
  }

 private:
  Result<void> RunLocked(DatabaseOwner owner) {
    if (owner == DatabaseOwner::kUnknown)
      return Fail(Code::kDataLoss, layout_.database + " is not a kvorum database");
    if (owner == DatabaseOwner::kKvorum) {
      const Result<void> converted = Convert();
      if (!converted.has_value()) {
        static_cast<void>(EndRelease(fs_, layout_));
        return converted;
      }
    } else {
      // The exchange was cut off, before or after its second rename.
      KV_RETURN_IF_ERROR(
          CheckMade(owner == DatabaseOwner::kEtcd ? layout_.database : layout_.Released()));
    }
    if (owner != DatabaseOwner::kEtcd) {
      KV_RETURN_IF_ERROR(Exchange(fs_, layout_.Released(), layout_.database, layout_.KeptOfOurs()));
    }
    KV_RETURN_IF_ERROR(fs_.Remove(layout_.format));
    KV_RETURN_IF_ERROR(fs_.SyncDirectory(layout_.member));
    backend_.reset();
    return {};
  }

  // Takes what an earlier call has made only if this release began it, and if it is whole and at
  // the entry that the release has marked in the log.
  Result<void> CheckMade(const std::string& path) {
    KV_TRY(const bool there, fs_.Exists(path));
    if (!there) return Fail(Code::kNotFound, "there is no database in " + layout_.snap);
    KV_TRY(const bool has_begun, HasReleaseBegun(fs_, layout_));
    if (!has_begun)
      return Fail(Code::kFailedPrecondition, path + " was made by no release of this directory");
    KV_TRY(const auto made, bbolt::Reader::Open(fs_, path));
    Tell(options_.on_progress, kChecking);
    KV_RETURN_IF_ERROR(made->Check());
    KV_TRY(const mvcc::EtcdMeta meta, mvcc::ReadEtcdMeta(*made));
    KV_TRY(const auto markers, wal::ListMarkers(fs_, layout_.wal));
    const raft::Index applied{meta.consistent_index};
    if (!markers.empty() && markers.back().index == applied) return {};
    return Fail(Code::kDataLoss, path + " is at entry " + std::to_string(applied.value()) +
                                     " of the log, where the log has no snapshot");
  }

  Result<void> Convert() {
    KV_RETURN_IF_ERROR(BeginRelease(fs_, layout_));
    Tell(options_.on_progress, kReading);
    KV_TRY(backend_, options_.open(layout_.database));
    KV_TRY(const mvcc::Reader reader, backend_->NewReader());
    KV_TRY(const mvcc::Store::Recovered recovered, mvcc::Store::ReadRecovered(*reader));
    KV_TRY(const server::MembershipView members, ReadMembers(*reader));
    result_.applied = raft::Index{recovered.consistent_index};
    result_.storage_version =
        server::ImageStorageVersion(members.cluster_version).value_or(recovered.storage_version);
    KV_RETURN_IF_ERROR(WriteDatabase(*backend_, *reader));
    return WriteLog(recovered, members);
  }

  Result<void> WriteDatabase(const mvcc::Backend& backend, mvcc::Snapshot& content) const {
    const std::string unfinished = layout_.Released() + ".part";
    const std::uint64_t total = backend.SizeInUseBytes();
    KV_TRY(const auto file, fs_.Open(unfinished, FileSystem::OpenMode::kCreate));
    KV_RETURN_IF_ERROR(mvcc::WriteEtcdFile(
        content, {.storage_version = result_.storage_version}, *file, [&](std::uint64_t done) {
          Tell(options_.on_progress, kCopying, std::min(done, total), total);
        }));
    Tell(options_.on_progress, kCopying, total, total);
    KV_RETURN_IF_ERROR(fs_.Rename(unfinished, layout_.Released()));
    return fs_.SyncDirectory(layout_.snap);
  }

  // A snapshot of the log at the database's index, with all that etcd wants to find there. Entries
  // of kinds that an old version does not know are behind it. To us it is one like any other.
  Result<void> WriteLog(const mvcc::Store::Recovered& recovered,
                        const server::MembershipView& members) {
    Tell(options_.on_progress, kReadingLog);
    KV_TRY(const auto markers, wal::ListMarkers(fs_, layout_.wal));
    if (markers.empty() || markers.back().index > result_.applied) {
      return Fail(Code::kFailedPrecondition,
                  "the database is older than the log's newest snapshot: start kvorum once more, "
                  "and stop it");
    }
    wal::Options options;
    options.reserve_size_bytes = 0;
    options.zero_segments = false;
    options.durable_index = [&]() -> Result<raft::Index> { return result_.applied; };
    const wal::Needs needs{.size_bytes = kEntryBytes, .not_up_to = [&] { return result_.applied; }};
    KV_TRY(wal::Opened log, wal::Open(fs_, layout_.wal, markers.back(), options, needs));
    result_.member = log.contents.metadata.node_id;
    result_.cluster = log.contents.metadata.cluster_id;
    result_.last_index = log.writer->last_index();
    if (result_.last_index < result_.applied) {
      return Fail(Code::kDataLoss,
                  "the log ends at index " + std::to_string(result_.last_index.value()) +
                      ", but the database is at " + std::to_string(result_.applied.value()));
    }
    if (result_.applied == raft::Index{}) return {};
    KV_TRY(raft::ConfState conf_state, server::DecodeConfStateJson(recovered.conf_state));
    const raft::Term term = TermAtApplied(log.contents).value_or(raft::Term{recovered.term});
    const raft::SnapshotMetadata metadata{
        .conf_state = conf_state, .index = result_.applied, .term = term};
    KV_RETURN_IF_ERROR(
        SaveSnapshotFile(fs_, layout_.snap, metadata, server::EncodeV2Membership(members)));
    if (markers.back().index < result_.applied) {
      // Etcd counts no marker past what the log says is committed.
      raft::HardState state = log.writer->hard_state();
      state.commit = std::max(state.commit, result_.applied);
      state.term = std::max(state.term, term);
      KV_RETURN_IF_ERROR(log.writer->Append({}, &state));
      KV_RETURN_IF_ERROR(log.writer->SaveSnapshot(
          {.index = result_.applied, .term = term, .conf_state = std::move(conf_state)}));
    }
    return log.writer->Close();
  }

  std::optional<raft::Term> TermAtApplied(const wal::Contents& log) const {
    if (log.previous_index == result_.applied) return log.previous_term;
    if (result_.applied < log.previous_index ||
        result_.applied > log.previous_index + log.entries.size())
      return std::nullopt;
    return log.entries[result_.applied - log.previous_index - 1].term;
  }

  // Nothing of ours is left that etcd does not need; what is found again after a crash is removed
  // by the next call.
  Result<Released> Finish() {
    KV_RETURN_IF_ERROR(RemoveLeftovers(fs_, layout_));
    KV_RETURN_IF_ERROR(RemoveIfThere(fs_, LmdbLockOf(layout_.database)));
    KV_RETURN_IF_ERROR(RemoveIfThere(fs_, layout_.incarnation));
    KV_RETURN_IF_ERROR(RemoveIfThere(fs_, ArchiveOriginPath(layout_.root)));
    for (const char* name : {"/lock", "/reserve"})
      KV_RETURN_IF_ERROR(RemoveIfThere(fs_, layout_.wal + name));
    KV_TRY(const bool is_kept, fs_.Exists(layout_.KeptOfOurs()));
    if (options_.drop_old) {
      KV_TRY(const auto etcds, bbolt::Reader::Open(fs_, layout_.database));
      KV_RETURN_IF_ERROR(etcds->Check());
      KV_RETURN_IF_ERROR(DropKept(fs_, layout_));
    } else if (is_kept) {
      result_.kept = layout_.KeptOfOurs();
    }
    KV_RETURN_IF_ERROR(RemoveIfThere(fs_, layout_.lock));
    return std::move(result_);
  }

  FileSystem& fs_;
  const ReleaseOptions& options_;
  const Layout layout_;
  // Open until another file has its name, so that no other process opens it in between.
  std::unique_ptr<mvcc::Backend> backend_;
  Released result_;
};

}  // namespace

Result<Released> Release(FileSystem& fs, const ReleaseOptions& options) {
  return Releasing(fs, options).Run();
}

}  // namespace kvorum::datadir
