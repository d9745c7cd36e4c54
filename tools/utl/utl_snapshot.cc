#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/member.h"
#include "base/file_system.h"
#include "bbolt/reader.h"
#include "datadir/database_status.h"
#include "datadir/restore.h"
#include "datadir/snapshot_checksum.h"
#include "tools/shell/progress_bar.h"
#include "tools/shell/step_progress.h"
#include "tools/text/json.h"
#include "tools/utl/utl_commands.h"
#include "tools/utl/utl_database.h"
#include "tools/utl/utl_log.h"
#include "tools/utl/utl_printer.h"
#include "tools/utl/utl_restore.h"

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
  AddedMembers added;
  options.on_member = [&](std::uint64_t cluster_id, const server::Member& member) {
    added.emplace_back(cluster_id, member);
  };
  Result<void> restored;
  {
    const ctl::ProgressBar bar(invocation.world, [&] { return progress.State(); });
    restored = Restore(PosixFileSystem(), OpenUnfinished, snapshot, options);
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
  LogAdded(invocation.world, added);
  return restored;
}

Outcome<void> RunRestore(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 1, "snapshot restore requires exactly one argument"));
  const ctl::FlagSet& flags = invocation.flags;
  if ((flags.Uint("bump-revision") > 0) != flags.Switch("mark-compacted"))
    return ctl::BadArguments("--mark-compacted required if --revision-bump > 0");
  FileSystem& files = PosixFileSystem();
  const std::string& path = invocation.args.front();
  datadir::RestoreOptions options = RestoreOptionsOf(flags);
  options.bump_revision = flags.Uint("bump-revision");
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
  const auto restored = RestoreAsOwner(options, [&](const datadir::RestoreOptions& as_owner) {
    return RestoreWithProgress(invocation, **snapshot, as_owner);
  });
  if (!restored.has_value()) return ctl::FailLocally(restored.error());
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
  std::vector<ctl::Flag> flags = RestoreFlags();
  flags.insert(
      flags.end(),
      {{.name = "skip-hash-check",
        .help = "Ignore snapshot integrity hash value (required if copied from data "
                "directory)"},
       {"initial-memory-map-size", FlagType::kUint, "10737418240",
        "accepted and without effect: the database's map grows by itself"},
       {"bump-revision", FlagType::kUint, "0",
        "How much to increase the latest revision after restore"},
       {.name = "mark-compacted",
        .help = "Mark the latest revision after restore as the point of scheduled compaction "
                "(required if --bump-revision > 0, disallowed otherwise)"}});
  return {
      .use = "restore <filename> --data-dir {output dir} [options]",
      .brief = "Restores an etcd member snapshot to a kvorum data directory",
      .description =
          "Makes the data directory of a new cluster's member from a snapshot of kvorum or etcd. "
          "Every member is\nrestored from the same file, with its own --name and "
          "--initial-advertise-peer-urls.",
      .flags = std::move(flags),
      .run = RunRestore};
}

}  // namespace

Command SnapshotCommand() {
  return {.use = "snapshot <subcommand>",
          .brief = "Manages etcd node snapshots",
          .children = {RestoreCommand(), StatusCommand()}};
}

}  // namespace kvorum::utl
