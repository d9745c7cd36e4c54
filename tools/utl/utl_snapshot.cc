#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/member.h"
#include "api/member_id.h"
#include "base/file_system.h"
#include "base/words.h"
#include "bbolt/reader.h"
#include "datadir/acting_as_owner.h"
#include "datadir/database_status.h"
#include "datadir/restore.h"
#include "datadir/snapshot_checksum.h"
#include "mvcc/lmdb/backend.h"
#include "tools/shell/progress_bar.h"
#include "tools/shell/step_progress.h"
#include "tools/text/json.h"
#include "tools/utl/utl_commands.h"
#include "tools/utl/utl_database.h"
#include "tools/utl/utl_log.h"
#include "tools/utl/utl_printer.h"

namespace kvorum::utl {
namespace {

using ctl::Command;
using ctl::FlagType;
using ctl::Invocation;
using ctl::Outcome;

constexpr std::string_view kBumping = "bumping latest revision";  // a step's name, from the library

Outcome<void> RunSnapshotStatus(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 1, "snapshot status requires exactly one argument"));
  const std::string& path = invocation.args.front();
  KV_RETURN_IF_ERROR(CheckFile(path));
  KV_RETURN_IF_ERROR(CheckFormat(invocation));
  ctl::StepProgress progress;
  KV_TRY(const auto file, OpenDatabase(invocation, path, progress.Callback()));
  const auto status = [&] {
    const ctl::ProgressBar bar(invocation.world, [&] { return progress.State(); }, ctl::kBarDelay);
    return datadir::ReadStatus(*file);
  }();
  if (!status.has_value()) return ctl::FailLocally(status.error());
  return PrintStatus(invocation, *status);
}

datadir::RestoreOptions RestoreOptionsOf(Invocation& invocation) {
  const ctl::FlagSet& flags = invocation.flags;
  datadir::RestoreOptions options{.data_dir = flags.String("data-dir"),
                                  .wal_dir = flags.String("wal-dir"),
                                  .name = flags.String("name"),
                                  .initial_cluster = flags.String("initial-cluster"),
                                  .initial_cluster_token = flags.String("initial-cluster-token"),
                                  .bump_revision = flags.Uint("bump-revision")};
  if (options.data_dir.empty()) options.data_dir = options.name + ".etcd";
  for (const std::string_view url : Split(flags.String("initial-advertise-peer-urls"), ','))
    options.advertise_peer_urls.emplace_back(url);
  return options;
}

void LogRestore(Invocation& invocation, std::string_view message,
                const datadir::RestoreOptions& options) {
  const std::filesystem::path member = std::filesystem::path(options.data_dir) / "member";
  const std::string snap_dir = (member / "snap").lexically_normal();
  const std::string wal_dir =
      options.wal_dir.empty() ? (member / "wal").lexically_normal().string() : options.wal_dir;
  LogInfo(invocation.world, message,
          {{"path", ctl::JsonString(invocation.args.front())},
           {"wal-dir", ctl::JsonString(wal_dir)},
           {"data-dir", ctl::JsonString(options.data_dir)},
           {"snap-dir", ctl::JsonString(snap_dir)},
           {"initial-memory-map-size",
            std::to_string(invocation.flags.Uint("initial-memory-map-size"))}});
}

// etcdutl's line; the member that restores has no id there.
void LogMember(ctl::World& world, std::uint64_t cluster_id, const server::Member& member) {
  std::string urls;
  for (const std::string& url : member.peer_urls)
    urls += (urls.empty() ? "" : ", ") + ctl::JsonString(url);
  LogInfo(world, "added member",
          {{"cluster-id", ctl::JsonString(server::IdText(cluster_id))},
           {"local-member-id", "\"0\""},
           {"added-peer-id", ctl::JsonString(server::IdText(member.id))},
           {"added-peer-peer-urls", "[" + urls + "]"},
           {"added-peer-is-learner", member.is_learner ? "true" : "false"}});
}

// Draws a bar on a terminal; messages come when it is gone.
Result<void> RestoreWithProgress(Invocation& invocation, bbolt::Reader& snapshot,
                                 datadir::RestoreOptions options) {
  ctl::StepProgress progress;
  std::vector<std::pair<std::string, std::int64_t>> steps;
  options.on_progress = [tell = progress.Callback(), &snapshot](std::uint64_t bytes) {
    tell(datadir::kCopying, bytes, snapshot.SizeBytes());
  };
  options.on_step = [&](std::string_view what, std::int64_t revision) {
    steps.emplace_back(what, revision);
  };
  std::vector<std::pair<std::uint64_t, server::Member>> added;
  options.on_member = [&](std::uint64_t cluster_id, const server::Member& member) {
    added.emplace_back(cluster_id, member);
  };
  const auto open = [](const std::string& database) {
    return mvcc::OpenLmdbBackend({.path = database, .sync = mvcc::CommitSync::kByHand});
  };
  Result<void> restored;
  {
    const ctl::ProgressBar bar(invocation.world, [&] { return progress.State(); });
    restored = Restore(PosixFileSystem(), open, snapshot, options);
  }
  for (const auto& [what, revision] : steps) {
    if (what == kBumping) {
      const auto amount = static_cast<std::int64_t>(options.bump_revision);
      LogInfo(invocation.world, what,
              {{"latest-revision", std::to_string(revision - amount)},
               {"bump-amount", std::to_string(amount)},
               {"new-latest-revision", std::to_string(revision)}});
    } else {
      LogInfo(invocation.world, what, {{"revision", std::to_string(revision)}});
    }
  }
  for (const auto& [cluster_id, member] : added) LogMember(invocation.world, cluster_id, member);
  return restored;
}

// The snapshot is open: it may be one that only root can read.
Result<void> RestoreAsOwner(Invocation& invocation, bbolt::Reader& snapshot,
                            datadir::RestoreOptions options) {
  KV_TRY(datadir::ActingAsOwner acting, datadir::ActingAsOwner::OfFolder(options.data_dir));
  options.data_dir = acting.Reach(options.data_dir);
  options.make_wal_dir = [&] { return acting.MakeFolders(options.wal_dir); };
  auto restored = RestoreWithProgress(invocation, snapshot, options);
  if (restored.has_value()) return {};
  acting.RemoveMadeFolders();
  return kvorum::Fail(acting.Named(std::move(restored).error()));
}

Outcome<void> RunRestore(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 1, "snapshot restore requires exactly one argument"));
  const ctl::FlagSet& flags = invocation.flags;
  if ((flags.Uint("bump-revision") > 0) != flags.Switch("mark-compacted"))
    return ctl::BadArguments("--mark-compacted required if --revision-bump > 0");
  FileSystem& files = PosixFileSystem();
  const std::string& path = invocation.args.front();
  const datadir::RestoreOptions options = RestoreOptionsOf(invocation);
  if (const auto checked = CheckRestore(files, options); !checked.has_value())
    return ctl::FailLocally(checked.error());
  LogRestore(invocation, "restoring snapshot", options);
  KV_RETURN_IF_ERROR(CheckFile(path, "open"));
  KV_TRY(const PlainFile file, PlainFile::Open(path));
  if (!flags.Switch("skip-hash-check")) {
    if (const auto checked = datadir::CheckSnapshotHash(files, file.path()); !checked.has_value())
      return ctl::FailLocally(checked.error());
  }
  const auto kind = datadir::KindOfDatabase(file.path());
  if (!kind.has_value()) return ctl::FailLocally(kind.error());
  // A member's database that was copied.
  std::optional<UnnamedFile> converted;
  if (*kind == datadir::DatabaseKind::kKvorum) {
    KV_TRY(UnnamedFile made, AsEtcds(invocation, file.path()));
    converted.emplace(std::move(made));
  }
  const auto snapshot =
      bbolt::Reader::Open(files, converted.has_value() ? converted->path() : file.path());
  if (!snapshot.has_value()) return ctl::FailLocally(snapshot.error());
  if (const auto restored = RestoreAsOwner(invocation, **snapshot, options); !restored.has_value())
    return ctl::FailLocally(restored.error());
  LogRestore(invocation, "restored snapshot", options);
  return {};
}

Command StatusCommand() {
  return {
      .use = "status <filename>",
      .brief = "Gets backend snapshot status of a given file",
      .description =
          "Prints hash, revision, number of keys, size and storage version of a snapshot, or of "
          "a member's\ndatabase: its file or its data directory. Files of etcd and of kvorum "
          "with one history have one hash.",
      .run = RunSnapshotStatus};
}

Command RestoreCommand() {
  return {
      .use = "restore <filename> --data-dir {output dir} [options]",
      .brief = "Restores an etcd member snapshot to a kvorum data directory",
      .description =
          "Makes the data directory of a new cluster's member from a snapshot of kvorum or etcd. "
          "Every member is\nrestored from the same file, with its own --name and "
          "--initial-advertise-peer-urls.",
      .flags = {{"data-dir", FlagType::kString, "", "Path to the output data directory"},
                {"wal-dir", FlagType::kString, "",
                 "Path to the WAL directory (use --data-dir if none given)"},
                {"initial-cluster", FlagType::kString, "default=http://localhost:2380",
                 "Initial cluster configuration for restore bootstrap"},
                {"initial-cluster-token", FlagType::kString, "etcd-cluster",
                 "Initial cluster token for the etcd cluster during restore bootstrap"},
                {"initial-advertise-peer-urls", FlagType::kString, "http://localhost:2380",
                 "List of this member's peer URLs to advertise to the rest of the cluster"},
                {"name", FlagType::kString, "default", "Human-readable name for this member"},
                {.name = "skip-hash-check",
                 .help = "Ignore snapshot integrity hash value (required if copied from data "
                         "directory)"},
                {"initial-memory-map-size", FlagType::kUint, "10737418240",
                 "accepted and without effect: the database's map grows by itself"},
                {"bump-revision", FlagType::kUint, "0",
                 "How much to increase the latest revision after restore"},
                {.name = "mark-compacted",
                 .help =
                     "Mark the latest revision after restore as the point of scheduled compaction "
                     "(required if --bump-revision > 0, disallowed otherwise)"}},
      .run = RunRestore};
}

}  // namespace

Command SnapshotCommand() {
  return {.use = "snapshot <subcommand>",
          .brief = "Manages etcd node snapshots",
          .children = {RestoreCommand(), StatusCommand()}};
}

}  // namespace kvorum::utl
