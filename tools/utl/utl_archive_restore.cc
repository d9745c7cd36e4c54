// "archive restore": the data directory of a new cluster's member, in a state of the archived one.
#include <fmt/format.h>

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/member_id.h"
#include "base/file_system.h"
#include "datadir/restore.h"
#include "tools/shell/progress_bar.h"
#include "tools/shell/stop_signals.h"
#include "tools/text/json.h"
#include "tools/utl/utl_archive.h"
#include "tools/utl/utl_archive_state.h"
#include "tools/utl/utl_archive_store.h"
#include "tools/utl/utl_archive_target.h"
#include "tools/utl/utl_log.h"
#include "tools/utl/utl_printer.h"
#include "tools/utl/utl_restore.h"

namespace kvorum::utl {
namespace {

using archive::Plan;
using archive::Plans;
using ctl::Command;
using ctl::Invocation;
using ctl::Outcome;

// The image of the base is as large as the database, and goes beside it.
std::string ExistingFolderOf(const std::string& path) {
  std::error_code error;
  std::filesystem::path folder = std::filesystem::absolute(path, error);
  while (folder.has_parent_path() && folder != folder.parent_path() &&
         !std::filesystem::is_directory(folder, error))
    folder = folder.parent_path();
  return folder.string();
}

// One restore along one plan after the other.
class ArchiveRestore {
 public:
  ArchiveRestore(ctl::World& world, archive::ObjectStore& store, const Plans& plans,
                 datadir::RestoreOptions options)
      : world_(world), store_(store), plans_(plans), options_(std::move(options)) {}

  archive::Read<void> Along(const Plan& plan) {
    ArchiveProgress progress;
    added_.clear();
    const ctl::ProgressBar bar(world_, [&] { return progress.State(); });
    KV_TRY(const BaseImage image,
           FetchBase(store_, plans_.BaseOf(plan), ExistingFolderOf(options_.data_dir), progress));
    datadir::RestoreOptions options = options_;
    options.on_progress = [&, tell = progress.Bytes()](std::uint64_t bytes) {
      tell(datadir::kCopying, bytes, image.reader->SizeBytes());
    };
    options.on_member = [&](std::uint64_t cluster_id, const server::Member& member) {
      added_.emplace_back(cluster_id, member);
    };
    std::optional<archive::ObjectError> blamed;
    options.replay = [&](const std::string& folder) -> Result<datadir::RestoreOptions::Replayed> {
      auto replayed = Replay(folder, plan, image, progress);
      if (replayed.has_value()) return *std::move(replayed);
      blamed = replayed.error();
      return std::unexpected(replayed.error().error);
    };
    const auto restored = RestoreAsOwner(options, [&](const datadir::RestoreOptions& as_owner) {
      return Restore(PosixFileSystem(), OpenUnfinished, *image.reader, as_owner);
    });
    if (restored.has_value()) return {};
    if (blamed) return std::unexpected(*blamed);
    return std::unexpected(BlameBase(restored.error(), plan.history, plan.base));
  }

  const server::Replayed& state() const { return state_; }
  archive::HistoryId history() const { return history_; }
  const AddedMembers& added() const { return added_; }

 private:
  archive::Read<datadir::RestoreOptions::Replayed> Replay(const std::string& folder,
                                                          const Plan& plan, const BaseImage& image,
                                                          ArchiveProgress& progress) {
    auto opened = server::Replay::Open(
        PosixFileSystem(),
        {.folder = folder, .open = OpenUnfinished, .to_revision = server::StopRevision(plan)});
    if (!opened.has_value())
      return std::unexpected(BlameBase(std::move(opened).error(), plan.history, plan.base));
    server::Replay& replay = **opened;
    const auto on_progress = [&](const server::Replayed& state) {
      progress.Replayed(state, plan.base.index, EndOf(plan));
    };
    KV_TRY(state_, server::ReplayLog(store_, plan, image.term, replay, archive::Ahead::kThread,
                                     on_progress));
    KV_RETURN_IF_ERROR(replay.Close());
    history_ = plan.history;
    const std::string history = archive::HistoryText(plan.history);
    return datadir::RestoreOptions::Replayed{
        .token_suffix = fmt::format("-{}-{}-{}", history, state_.revision, state_.index.value()),
        .origin = {.reason = std::string(datadir::kRestored),
                   .history = plan.history.value(),
                   .index = state_.index,
                   .revision = state_.revision}};
  }

  ctl::World& world_;
  archive::ObjectStore& store_;
  const Plans& plans_;
  const datadir::RestoreOptions options_;
  server::Replayed state_;
  archive::HistoryId history_ = 0;
  AddedMembers added_;
};

void LogArchiveRestore(Invocation& invocation, std::string_view message,
                       const datadir::RestoreOptions& options) {
  LogInfo(invocation.world, message,
          {{"url", ctl::JsonString(invocation.flags.String("url"))},
           {"data-dir", ctl::JsonString(options.data_dir)},
           {"name", ctl::JsonString(options.name)}});
}

void LogNewCluster(ctl::World& world, const ArchiveRestore& restore, const Plans& plans) {
  std::string archived = "unknown";
  const auto history = plans.contents().histories.find(restore.history());
  if (history != plans.contents().histories.end() && history->second.record)
    archived = server::IdText(history->second.record->cluster_id);
  LogInfo(world, "the restored member is of a new cluster, and refuses to join the archived one",
          {{"cluster-id", ctl::JsonString(server::IdText(restore.added().front().first))},
           {"archived-cluster-id", ctl::JsonString(archived)}});
}

Outcome<void> RunArchiveRestore(Invocation& invocation) {
  KV_RETURN_IF_ERROR(CheckCount(invocation, 0, "archive restore takes no arguments"));
  KV_RETURN_IF_ERROR(CheckFormat(invocation));
  KV_TRY(const archive::Target target, ArchiveTarget(invocation, TargetFlags::kRestore));
  const datadir::RestoreOptions options = RestoreOptionsOf(invocation.flags);
  if (const auto checked = CheckRestore(PosixFileSystem(), options); !checked.has_value())
    return ctl::FailLocally(checked.error());
  const ctl::StopSignals signals;
  KV_TRY(const auto opened, OpenedArchive::Open(invocation, ArchiveAccess::kRead));
  const std::stop_callback stop(signals.token(), [&] { opened->stop().Stop(); });
  KV_TRY(archive::Contents contents, ListArchive(invocation.world, opened->store()));
  Plans plans(opened->store(), std::move(contents), opened->history(), target);
  LogArchiveRestore(invocation, "restoring from an archive", options);
  ArchiveRestore restore(invocation.world, opened->store(), plans, options);
  KV_RETURN_IF_ERROR(AlongPlans(invocation.world, plans, [&](const Plan& plan) {
    WarnOfWhatIsMissing(invocation.world, opened->store(), plan);
    return restore.Along(plan);
  }));
  LogAdded(invocation.world, restore.added());
  LogNewCluster(invocation.world, restore, plans);
  LogArchiveRestore(invocation, "restored from an archive", options);
  return PrintRestored(invocation, {.history = archive::HistoryText(restore.history()),
                                    .index = restore.state().index.value(),
                                    .revision = restore.state().revision,
                                    .time = TimeText(restore.state().time_ms)});
}

}  // namespace

Command ArchiveRestoreCommand() {
  std::vector<ctl::Flag> flags = RestoreFlags();
  for (ctl::Flag& flag : ArchiveTargetFlags(TargetFlags::kRestore))
    flags.push_back(std::move(flag));
  return {
      .use =
          "restore --url U {--to-revision R | --to-time T | --to-index I | --latest} --data-dir "
          "{output dir} [options]",
      .brief = "Restores a member's data directory from an archive, at any revision or time",
      .description =
          R"(Makes the data directory of a new cluster's member in the state that the archived cluster had at a
revision, a time or an index, with its keys, leases, users, roles and alarms. Every member is restored
to the same state, with its own --name and --initial-advertise-peer-urls: where an archive is still
written to, name the revision or the index, since --latest is another state a second later. The
history and the state are added to the token, so that members of different states, and those of the
archived cluster, are of other clusters and refuse each other.
)",
      .flags = std::move(flags),
      .run = RunArchiveRestore};
}

}  // namespace kvorum::utl
