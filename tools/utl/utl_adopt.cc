// "adopt" and "release": a member's directory goes from etcd to kvorum, and back.
#include <fmt/format.h>

#include <ostream>
#include <string>

#include "base/file_system.h"
#include "datadir/acting_as_owner.h"
#include "datadir/adopt.h"
#include "datadir/layout.h"
#include "datadir/release.h"
#include "datadir/wait_for_lock.h"
#include "mvcc/lmdb/backend.h"
#include "tools/shell/progress_bar.h"
#include "tools/shell/step_progress.h"
#include "tools/utl/utl_commands.h"
#include "wal/wal.h"

namespace kvorum::utl {
namespace {

using ctl::Command;
using ctl::Flag;
using ctl::FlagType;
using ctl::Invocation;
using ctl::Outcome;
using ctl::ProgressBar;

std::vector<Flag> Flags(std::string old_database) {
  return {
      {.name = "data-dir",
       .type = FlagType::kString,
       .help = "path of the member's directory",
       .required = true},
      {"wal-dir", FlagType::kString, "", "path of its log, if it is outside the data directory"},
      {"drop-old", FlagType::kSwitch, "",
       "remove " + std::move(old_database) + ", which is kept otherwise"},
  };
}

template <class Options>
Outcome<Options> MoveOptionsOf(const Invocation& invocation, const mvcc::LmdbOptions& lmdb) {
  if (!invocation.args.empty())
    return ctl::BadArguments(fmt::format("{} takes no arguments", invocation.path.back()->name()));
  return Options{.data_dir = invocation.flags.String("data-dir"),
                 .wal_dir = invocation.flags.String("wal-dir"),
                 .open =
                     [lmdb](const std::string& path) {
                       mvcc::LmdbOptions options = lmdb;
                       options.path = path;
                       return mvcc::OpenLmdbBackend(options);
                     },
                 .drop_old = invocation.flags.Switch("drop-old"),
                 .on_progress = {}};
}

// Waits, as long as --timeout says, for a process that has the directory to end. The move itself
// refuses one that does not.
void WaitForOthers(const Invocation& invocation, const datadir::Layout& layout) {
  FileSystem& fs = PosixFileSystem();
  const Duration timeout = invocation.flags.Duration("timeout");
  const auto member =
      datadir::WaitForLock(timeout, [&] { return datadir::MemberLock::Take(fs, layout); });
  // Under the member's lock no other process moves the database away, which would be made anew.
  if (!member.has_value() || !fs.Exists(layout.database).value_or(false)) return;
  static_cast<void>(datadir::WaitForLock(timeout, [&] { return fs.Lock(layout.database); }));
}

// The reason why it failed, and the flag that may be missing.
ctl::Failure FailureOf(const Error& error, const Invocation& invocation,
                       const datadir::Layout& layout) {
  const bool has_log = wal::Exists(PosixFileSystem(), layout.wal).value_or(true);
  const bool has_member = PosixFileSystem().Exists(layout.snap).value_or(false);
  if (error.code != Code::kNotFound || !has_member || has_log ||
      !invocation.flags.String("wal-dir").empty())
    return {ctl::ExitCode::kError, error.message};
  return {ctl::ExitCode::kError,
          error.message + "; if the member has its log in another folder, name it by --wal-dir"};
}

// Runs it beside a bar. The line after the bar is the caller's. `lmdb` has no path yet.
template <class Options, class Done>
Outcome<Done> RunWithBar(Invocation& invocation, const mvcc::LmdbOptions& lmdb,
                         Result<Done> (*run)(FileSystem& fs, const Options& options)) {
  KV_TRY(Options options, MoveOptionsOf<Options>(invocation, lmdb));
  auto acting = datadir::ActingAsOwner::OfMember(options.data_dir);
  if (!acting.has_value()) return Fail(ctl::ExitCode::kError, acting.error().message);
  options.data_dir = acting->Reach(options.data_dir);
  options.wal_dir = acting->Reach(options.wal_dir);
  const datadir::Layout layout(options.data_dir, options.wal_dir);
  WaitForOthers(invocation, layout);
  ctl::StepProgress progress;
  options.on_progress = progress.Callback();
  const ProgressBar bar(invocation.world, [&] { return progress.State(); });
  Result<Done> done = run(PosixFileSystem(), options);
  if (!done.has_value())
    return std::unexpected(FailureOf(acting->Named(done.error()), invocation, layout));
  done->kept = acting->Named(done->kept);
  return *std::move(done);
}

Outcome<void> RunAdopt(Invocation& invocation) {
  KV_TRY(const datadir::Adopted done,
         RunWithBar(
             invocation,
             {.path = {}, .sync = mvcc::CommitSync::kByHand, .check = mvcc::LmdbCheck::kAllPages},
             datadir::Adopt));
  std::ostream& out = invocation.world.out;
  const std::string data_dir = invocation.flags.String("data-dir");
  if (done.was_ours) {
    out << fmt::format("{} is kvorum's already.\n", data_dir);
  } else if (done.member != raft::kNone) {
    out << fmt::format(
        "Adopted member {:x} of cluster {:x}: {} records at log index {}; the log goes on to {}.\n",
        done.member.value(), done.cluster, done.records, done.applied.value(),
        done.last_index.value());
  } else {
    out << fmt::format("Finished the adoption of {}.\n", data_dir);
  }
  if (!done.kept.empty())
    out << fmt::format("etcd's database is kept as {}; --drop-old removes it.\n", done.kept);
  return {};
}

Outcome<void> RunRelease(Invocation& invocation) {
  KV_TRY(
      const datadir::Released done,
      RunWithBar(invocation, {.path = {}, .check = mvcc::LmdbCheck::kAllPages, .must_exist = true},
                 datadir::Release));
  std::ostream& out = invocation.world.out;
  const std::string data_dir = invocation.flags.String("data-dir");
  if (done.was_etcds) {
    out << fmt::format("{} is etcd's already.\n", data_dir);
  } else if (done.member != raft::kNone) {
    out << fmt::format(
        "Released member {:x} of cluster {:x} at log index {}; the log goes on to {}. The storage "
        "version is {}.\n",
        done.member.value(), done.cluster, done.applied.value(), done.last_index.value(),
        done.storage_version.empty() ? "that of 3.5" : done.storage_version);
  } else {
    out << fmt::format("Finished the release of {}.\n", data_dir);
  }
  if (!done.kept.empty())
    out << fmt::format("kvorum's database is kept as {}; --drop-old removes it.\n", done.kept);
  return {};
}

}  // namespace

Command AdoptCommand() {
  return {
      .use = "adopt --data-dir dir",
      .brief = "Makes the directory of a stopped etcd member kvorum's",
      .description =
          R"(Turns the directory of an etcd member (3.4 to 3.7) that does not run into one of kvorum's. The
member keeps its id, its cluster, and all that is in its log and its database.

Etcd's database is kept beside the new one. Where this was interrupted, the same command goes on.
)",
      .flags = Flags("etcd's database"),
      .run = RunAdopt};
}

Command ReleaseCommand() {
  return {
      .use = "release --data-dir dir",
      .brief = "Makes the directory of a stopped kvorum member etcd's",
      .description =
          R"(Turns the directory of a kvorum member that does not run into one from which etcd of the cluster's
version starts: the way back of adopt.

Kvorum's database is kept beside the new one. Where this was interrupted, the same command goes on.
)",
      .flags = Flags("kvorum's database"),
      .run = RunRelease};
}

}  // namespace kvorum::utl
