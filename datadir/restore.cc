#include "datadir/restore.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "api/alarm.h"
#include "api/entries/conf_state_json.h"
#include "api/member_id.h"
#include "base/net/url.h"
#include "bbolt/reader.h"
#include "datadir/data_directory.h"
#include "datadir/first_members.h"
#include "datadir/image_database.h"
#include "datadir/layout.h"
#include "datadir/snapshot_files.h"
#include "mvcc/index/index_file.h"
#include "mvcc/lmdb/write_batch.h"
#include "mvcc/records/bucket.h"
#include "mvcc/transfer/etcd_import.h"
#include "wal/wal.h"

namespace kvorum::datadir {
namespace {

using mvcc::Bucket;
using server::Member;

constexpr std::uint64_t kMaxPathBytes = 4096;

std::string UnfinishedRoot(const std::string& data_dir) {
  return data_dir + "/" + std::string(kUnfinishedRestore);
}
// Names the log's directory outside of the data directory that the restore makes, and that
// therefore may be removed if it does not finish.
std::string WalNotePath(const std::string& data_dir) {
  return UnfinishedRoot(data_dir) + "/wal-dir";
}

// Removes links, and nothing of what they name.
Result<void> RemoveTree(FileSystem& fs, const std::string& path) {
  auto removed = fs.Remove(path);
  if (removed.has_value() || removed.error().code == Code::kNotFound) return {};
  // Only a folder, never a link to one, cannot be removed for what is in it.
  if (removed.error().code != Code::kAlreadyExists) return removed;
  KV_TRY(const auto names, fs.List(path));
  for (const std::string& name : names) {
    const std::string child = (path + "/").append(name);
    KV_RETURN_IF_ERROR(RemoveTree(fs, child));
  }
  return fs.Remove(path);
}

// True if the log's directory was left by a restore into this data directory. The note alone does
// not show that: since then, another member may have been given a log there.
Result<bool> IsOurWalDirectory(FileSystem& fs, const RestoreOptions& options) {
  const std::string note = WalNotePath(options.data_dir);
  KV_TRY(const bool is_there, fs.Exists(note));
  if (!is_there) return false;
  KV_TRY(const std::string path, ReadWholeFile(fs, note, kMaxPathBytes));
  if (path != options.wal_dir) return false;
  KV_TRY(const bool is_made, fs.Exists(options.wal_dir));
  if (!is_made) return true;
  KV_TRY(const bool is_marked, fs.Exists(UnfinishedLogMark(options.wal_dir)));
  if (is_marked) return true;
  KV_TRY(const auto names, fs.List(options.wal_dir));
  return names.empty();
}

// The note of an interrupted restore may be older than a member that has its log there now.
Result<void> CheckUnused(FileSystem& fs, const std::string& wal_dir) {
  const std::string path = wal_dir + "/lock";
  KV_TRY(const bool has_lock, fs.Exists(path));
  if (!has_lock) return {};
  const auto lock = fs.Lock(path);
  if (lock.has_value()) return {};
  return Fail(lock.error().code, "wal-dir \"" + wal_dir + "\" is in use: " + lock.error().message);
}

// An empty file, made under its own name: no moment may leave a folder that is neither empty nor
// marked.
Result<void> MarkLog(FileSystem& fs, const std::string& wal_dir) {
  KV_TRY(const auto mark, fs.Open(UnfinishedLogMark(wal_dir), FileSystem::OpenMode::kCreate));
  KV_RETURN_IF_ERROR(mark->Sync());
  return fs.SyncDirectory(wal_dir);
}

// A folder stays that was made where its owner may not remove it, and is empty then. The mark goes
// last: a run after an interruption finds the folder again.
Result<void> ClearLog(FileSystem& fs, const std::string& wal_dir) {
  KV_TRY(const bool is_made, fs.Exists(wal_dir));
  if (!is_made) return {};
  KV_TRY(auto left, fs.List(wal_dir));
  std::erase(left, kUnfinishedRestore);
  for (const std::string& name : left) {
    const std::string child = (wal_dir + "/").append(name);
    KV_RETURN_IF_ERROR(RemoveTree(fs, child));
  }
  auto removed = RemoveTree(fs, wal_dir);
  if (removed.has_value() || removed.error().code != Code::kPermissionDenied) return removed;
  KV_TRY(const auto names, fs.List(wal_dir));
  return names.empty() ? Result<void>() : removed;
}

// Removes the remains of an interrupted restore. kFailedPrecondition while it still runs.
Result<void> ClearRemains(FileSystem& fs, const RestoreOptions& options) {
  const std::string root = UnfinishedRoot(options.data_dir);
  const std::string lock_path = root + "/member/lock";
  KV_TRY(const bool has_lock, fs.Exists(lock_path));
  if (has_lock) {
    const auto lock = fs.Lock(lock_path);
    if (!lock.has_value()) {
      return Fail(lock.error().code,
                  "another restore into " + options.data_dir + ": " + lock.error().message);
    }
  }
  KV_TRY(const bool is_ours, IsOurWalDirectory(fs, options));
  if (is_ours) {
    KV_RETURN_IF_ERROR(CheckUnused(fs, options.wal_dir));
    KV_RETURN_IF_ERROR(ClearLog(fs, options.wal_dir));
  }
  return RemoveTree(fs, root);
}

// Takes back what a restore has made, unless it has finished.
class Cleanup {
 public:
  Cleanup(FileSystem& fs, const RestoreOptions& options, bool made_data_dir)
      : fs_(fs), options_(options), made_data_dir_(made_data_dir) {}
  ~Cleanup() {
    if (finished_) return;
    static_cast<void>(ClearRemains(fs_, options_));
    if (made_data_dir_) static_cast<void>(fs_.Remove(options_.data_dir));
  }
  Cleanup(const Cleanup&) = delete;
  Cleanup& operator=(const Cleanup&) = delete;
  void Finished() { finished_ = true; }

 private:
  FileSystem& fs_;
  const RestoreOptions& options_;
  const bool made_data_dir_;
  bool finished_ = false;
};

struct NewMember {
  std::vector<Member> members;
  wal::Metadata metadata;
  raft::Bootstrap first;
  raft::SnapshotMetadata snapshot;  // of the log, behind the first entries
};

Result<NewMember> MakeMember(const RestoreOptions& options, const std::string& token_suffix = "") {
  NewMember made;
  KV_TRY(made.members, server::ParseInitialCluster(options.initial_cluster,
                                                   options.initial_cluster_token + token_suffix));
  KV_TRY(const Member* self, FindSelf(made.members, options.name));
  made.metadata = {.node_id = self->id, .cluster_id = ClusterIdOf(made.members)};
  made.first = FirstEntriesOf(made.members);
  made.snapshot = {.index = made.first.hard_state.commit, .term = made.first.hard_state.term};
  for (const Member& member : made.members) made.snapshot.conf_state.voters.push_back(member.id);
  return made;
}

mvcc::EtcdMeta PlaceOf(const NewMember& made) {
  return {.consistent_index = made.snapshot.index.value(),
          .term = made.snapshot.term.value(),
          .conf_state = server::EncodeConfStateJson(made.snapshot.conf_state),
          .storage_version = {}};
}

void RemoveAll(mvcc::Snapshot& content, Bucket bucket, mvcc::WriteBatch& batch,
               Result<void>& result) {
  if (!result.has_value()) return;
  result = content.Scan(bucket, {}, {}, [&](std::string_view key, std::string_view) {
    batch.changes.Remove(bucket, key);
    return true;
  });
}

// The new member that answers for an old one's alarm: that of its name, else the one with the
// lowest id, so that all members of the new cluster ascribe it alike.
Result<raft::MemberId> HeirOf(mvcc::Snapshot& content, raft::MemberId old,
                              const std::vector<Member>& members) {
  KV_TRY(const auto record, content.Get(Bucket::kMembers, server::IdText(old)));
  std::string name;
  if (record.has_value()) {
    KV_TRY(const Member member, server::DecodeMemberJson(*record));
    name = member.name;
  }
  const auto found = std::ranges::find(members, name, &Member::name);
  if (found != members.end()) return found->id;
  return std::ranges::min_element(members, {}, &Member::id)->id;
}

// Behind a removal of all: the last change to a key wins.
Result<void> KeepAlarms(mvcc::Snapshot& content, const std::vector<Member>& members,
                        mvcc::WriteBatch& batch) {
  std::vector<std::string> keys;
  KV_RETURN_IF_ERROR(
      content.Scan(Bucket::kAlarm, {}, {}, [&](std::string_view key, std::string_view) {
        keys.emplace_back(key);
        return true;
      }));
  for (const std::string& key : keys) {
    KV_TRY(server::Alarm alarm, server::DecodeAlarm(key));
    KV_TRY(alarm.member, HeirOf(content, alarm.member, members));
    batch.changes.Put(Bucket::kAlarm, server::EncodeAlarm(alarm), {});
  }
  return {};
}

// The alarms of the old ones go with them: no member would ever end them, and the disk or the copy
// that they report is not that of a new member. Behind a replay they stay: the state is to be the
// one that was asked for.
Result<void> ReplaceMembers(mvcc::Snapshot& content, const std::vector<Member>& members,
                            bool keeps_alarms, mvcc::WriteBatch& batch) {
  Result<void> result;
  for (const Bucket bucket : {Bucket::kMembers, Bucket::kMembersRemoved, Bucket::kAlarm})
    RemoveAll(content, bucket, batch, result);
  KV_RETURN_IF_ERROR(result);
  if (keeps_alarms) KV_RETURN_IF_ERROR(KeepAlarms(content, members, batch));
  for (const Member& member : members)
    batch.changes.Put(Bucket::kMembers, server::IdText(member.id), EncodeMemberJson(member));
  return {};
}

void PutPlace(const NewMember& made, mvcc::WriteBatch& batch) {
  const mvcc::EtcdMeta place = PlaceOf(made);
  namespace key = mvcc::meta_key;
  batch.changes.Put(Bucket::kMeta, key::kConsistentIndex, mvcc::MetaNumber(place.consistent_index));
  batch.changes.Put(Bucket::kMeta, key::kTerm, mvcc::MetaNumber(place.term));
  batch.changes.Put(Bucket::kMeta, key::kConfState, place.conf_state);
  batch.changes.Remove(Bucket::kMeta, key::kIndexMark);
}

Result<std::int64_t> NewestRevision(mvcc::Snapshot& content) {
  std::int64_t newest = 0;
  KV_RETURN_IF_ERROR(content.ScanRevisions({}, {.main = std::numeric_limits<std::int64_t>::max()},
                                           [&](const mvcc::RevisionRecord& record) {
                                             newest = record.revision.main;
                                             return true;
                                           }));
  return newest;
}

void TellStep(const RestoreOptions& options, std::string_view what, std::int64_t revision) {
  if (options.on_step) options.on_step(what, revision);
}

Result<std::int64_t> BumpedRevision(mvcc::Snapshot& content, const RestoreOptions& options) {
  KV_TRY(const std::int64_t newest, NewestRevision(content));
  if (newest > mvcc::kLargestRevision ||
      options.bump_revision > static_cast<std::uint64_t>(mvcc::kLargestRevision - newest)) {
    return Fail(Code::kInvalidArgument, "--bump-revision=" + std::to_string(options.bump_revision) +
                                            " goes beyond the largest revision");
  }
  return newest + static_cast<std::int64_t>(options.bump_revision);
}

// Writes all that differs between the new cluster and the snapshot, in one commit.
Result<void> Adapt(mvcc::Backend& backend, const NewMember& made, const RestoreOptions& options) {
  mvcc::WriteBatch batch;
  std::vector<mvcc::RevisionRecord> bump;
  {
    KV_TRY(const mvcc::Reader reader, backend.NewReader());
    const bool is_replayed = options.replay != nullptr;
    KV_RETURN_IF_ERROR(ReplaceMembers(*reader, made.members, is_replayed, batch));
    if (is_replayed) PutPlace(made, batch);
    if (options.bump_revision > 0) {
      KV_TRY(const std::int64_t revision, BumpedRevision(*reader, options));
      TellStep(options, "bumping latest revision", revision);
      TellStep(options, "marking revision compacted", revision);
      bump.push_back({.revision = {.main = revision, .sub = 0}, .value = ""});
      batch.appends.emplace_back(bump);
      batch.changes.Put(Bucket::kMeta, mvcc::meta_key::kScheduledCompact,
                        mvcc::RevisionKey({.main = revision, .sub = 0}).view());
    }
  }
  return backend.Commit(batch);
}

// The result of a replay behind the snapshot.
struct ReplayedDatabase {
  std::unique_ptr<mvcc::Backend> backend;
  NewMember made;
};

// The database's own place in the log, up to which its entries are applied, ends with the replay.
Result<ReplayedDatabase> ReplayBehind(FileSystem& fs, const mvcc::BackendOpener& open_backend,
                                      const DataDirectory& directory,
                                      const RestoreOptions& options) {
  ReplayedDatabase result;
  KV_TRY(const RestoreOptions::Replayed replayed, options.replay(directory.snap));
  KV_RETURN_IF_ERROR(mvcc::RemoveIndexFile(fs, directory.database));
  KV_TRY(result.made, MakeMember(options, replayed.token_suffix));
  KV_RETURN_IF_ERROR(WriteArchiveOrigin(fs, UnfinishedRoot(options.data_dir), replayed.origin));
  KV_TRY(result.backend, open_backend(directory.database));
  return result;
}

// Returns the member that the database is of.
Result<NewMember> MakeDatabase(FileSystem& fs, const mvcc::BackendOpener& open_backend,
                               bbolt::Reader& snapshot, const DataDirectory& directory,
                               const RestoreOptions& options) {
  KV_TRY(NewMember made, MakeMember(options));
  KV_TRY(const mvcc::EtcdMeta meta, mvcc::ReadEtcdMeta(snapshot));
  ImageDatabase image = {.path = directory.database,
                         .open = open_backend,
                         .meta = options.replay ? meta : PlaceOf(made),
                         .passes_over_members = !options.replay,
                         .on_progress = options.on_progress};
  KV_TRY(image.meta.storage_version, StorageVersionOfImage(meta));
  KV_TRY(auto backend, MakeDatabaseOfImage(snapshot, image));
  if (options.replay) {
    backend.reset();
    KV_TRY(ReplayedDatabase replayed, ReplayBehind(fs, open_backend, directory, options));
    backend = std::move(replayed.backend);
    made = std::move(replayed.made);
  }
  KV_RETURN_IF_ERROR(Adapt(*backend, made, options));
  KV_RETURN_IF_ERROR(backend->Sync());
  backend.reset();
  KV_RETURN_IF_ERROR(RemoveIfThere(fs, LmdbLockOf(directory.database)));
  return made;
}

Result<void> MakeLog(FileSystem& fs, const DataDirectory& directory, const NewMember& made) {
  wal::Options options;
  options.zero_segments = false;
  KV_TRY(const auto writer, wal::Create(fs, directory.wal, made.metadata, options));
  KV_RETURN_IF_ERROR(writer->Append(made.first.entries, &made.first.hard_state));
  KV_RETURN_IF_ERROR(writer->Sync());
  KV_RETURN_IF_ERROR(SaveSnapshotFile(fs, directory.snap, made.snapshot));
  KV_RETURN_IF_ERROR(writer->SaveSnapshot({.index = made.snapshot.index,
                                           .term = made.snapshot.term,
                                           .conf_state = made.snapshot.conf_state}));
  return writer->Close();
}

// The names of all new directories are durable when it returns.
Result<void> BeginDirectory(FileSystem& fs, const RestoreOptions& options, bool has_data_dir) {
  const std::string root = UnfinishedRoot(options.data_dir);
  KV_RETURN_IF_ERROR(fs.MakeDirectories(root));
  if (!options.wal_dir.empty()) {
    KV_RETURN_IF_ERROR(WriteFileAtomically(fs, WalNotePath(options.data_dir), options.wal_dir));
    if (options.make_wal_dir) KV_RETURN_IF_ERROR(options.make_wal_dir());
  }
  KV_RETURN_IF_ERROR(fs.SyncDirectory(options.data_dir));
  return has_data_dir ? Result<void>() : fs.SyncDirectory(ParentDirectory(options.data_dir));
}

}  // namespace

Result<void> CheckRestore(FileSystem& fs, const RestoreOptions& options) {
  KV_TRY(const std::vector<Url> urls, ParseUrlList(options.advertise_peer_urls));
  KV_TRY(const NewMember made, MakeMember(options));
  KV_TRY(const Member* self, FindSelf(made.members, options.name));
  std::vector<std::string> advertised;
  for (const Url& url : urls) advertised.push_back(url.text());
  KV_RETURN_IF_ERROR(CheckAdvertisedUrls(options.resolve, *self, advertised));

  KV_TRY(const bool has_data_dir, fs.Exists(options.data_dir));
  if (has_data_dir) {
    auto names = fs.List(options.data_dir);
    if (names.has_value()) std::erase(*names, kUnfinishedRestore);
    if (!names.has_value() || !names->empty()) {
      return Fail(Code::kFailedPrecondition,
                  "data-dir \"" + options.data_dir + "\" not empty or could not be read");
    }
  }
  if (options.wal_dir.empty()) return {};
  KV_TRY(const bool has_wal_dir, fs.Exists(options.wal_dir));
  KV_TRY(const bool is_ours, IsOurWalDirectory(fs, options));
  if (has_wal_dir && !is_ours)
    return Fail(Code::kFailedPrecondition, "wal-dir \"" + options.wal_dir + "\" exists");
  return {};
}

Result<void> Restore(FileSystem& fs, const mvcc::BackendOpener& open_backend,
                     bbolt::Reader& snapshot, const RestoreOptions& options) {
  KV_RETURN_IF_ERROR(CheckRestore(fs, options));
  KV_RETURN_IF_ERROR(snapshot.Check());
  KV_TRY(const bool has_data_dir, fs.Exists(options.data_dir));
  KV_RETURN_IF_ERROR(ClearRemains(fs, options));
  Cleanup cleanup(fs, options, !has_data_dir);
  KV_RETURN_IF_ERROR(BeginDirectory(fs, options, has_data_dir));
  const std::string root = UnfinishedRoot(options.data_dir);
  {
    KV_TRY(const DataDirectory directory, OpenDataDirectory(fs, root, options.wal_dir));
    if (!options.wal_dir.empty()) KV_RETURN_IF_ERROR(MarkLog(fs, options.wal_dir));
    KV_TRY(const NewMember made, MakeDatabase(fs, open_backend, snapshot, directory, options));
    if (options.on_member) {
      for (const Member& member : made.members) options.on_member(made.metadata.cluster_id, member);
    }
    KV_RETURN_IF_ERROR(MakeLog(fs, directory, made));
    for (const std::string& folder : {directory.wal, directory.snap, root + "/member"})
      KV_RETURN_IF_ERROR(fs.SyncDirectory(folder));
  }
  KV_RETURN_IF_ERROR(fs.Rename(root + "/member", options.data_dir + "/member"));
  cleanup.Finished();
  KV_RETURN_IF_ERROR(fs.SyncDirectory(options.data_dir));
  if (!options.wal_dir.empty()) {
    KV_RETURN_IF_ERROR(fs.Remove(UnfinishedLogMark(options.wal_dir)));
    KV_RETURN_IF_ERROR(fs.SyncDirectory(options.wal_dir));
  }
  return RemoveTree(fs, root);
}

}  // namespace kvorum::datadir
