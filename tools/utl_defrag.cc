#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <system_error>

#include "base/file_system.h"
#include "datadir/acting_as_owner.h"
#include "datadir/database_file.h"
#include "datadir/layout.h"
#include "datadir/rewrite.h"
#include "datadir/wait_for_lock.h"
#include "mvcc/backend.h"
#include "mvcc/index_file.h"
#include "tools/progress_bar.h"
#include "tools/step_progress.h"
#include "tools/utl_commands.h"
#include "tools/utl_database.h"

namespace kvorum::utl {
namespace {

using ctl::Outcome;

// The copy grows in a file of its own, whose size is its progress.
void TellCopied(ctl::StepProgress& progress, const std::string& copy, std::uint64_t total) {
  std::error_code none_yet;
  const std::uint64_t done = std::filesystem::file_size(copy, none_yet);
  progress.Callback()(datadir::kCopying, none_yet ? 0 : std::min(done, total), total);
}

Result<void> DefragmentOurs(ctl::World& world, const std::string& path, Duration timeout) {
  KV_TRY(const auto backend, datadir::WaitForLock(timeout, [&] {
           return mvcc::OpenLmdbBackend(
               {.path = path, .check = mvcc::LmdbCheck::kAllPages, .must_exist = true});
         }));
  KV_TRY(auto copy, backend->StartDefragment());
  ctl::StepProgress progress;
  {
    const ctl::ProgressBar bar(
        world,
        [&, total = backend->SizeInUseBytes()] {
          TellCopied(progress, path + ".tmp", total);
          return progress.State();
        },
        ctl::kBarDelay);
    KV_RETURN_IF_ERROR(copy->Copy());
  }
  KV_RETURN_IF_ERROR(mvcc::RemoveIndexFile(PosixFileSystem(), path));
  const auto finished = backend->FinishDefragment(std::move(copy));
  if (!finished.has_value()) return std::unexpected(finished.error().error);
  return {};
}

Result<void> DefragmentEtcds(ctl::World& world, const std::string& path, Duration timeout) {
  FileSystem& fs = PosixFileSystem();
  KV_TRY(const auto lock, datadir::WaitForLock(timeout, [&] { return fs.Lock(path); }));
  ctl::StepProgress progress;
  const ctl::ProgressBar bar(world, [&] { return progress.State(); }, ctl::kBarDelay);
  return datadir::RewriteEtcds(fs, {.path = path, .on_progress = progress.Callback()});
}

Result<void> Defragment(ctl::World& world, const datadir::Layout& layout, Duration timeout) {
  KV_TRY(const datadir::MemberLock lock, datadir::WaitForLock(timeout, [&] {
           return datadir::MemberLock::Take(PosixFileSystem(), layout);
         }));
  KV_RETURN_IF_ERROR(datadir::RemoveLeftovers(PosixFileSystem(), layout));
  KV_TRY(const datadir::DatabaseKind kind, datadir::KindOfDatabase(layout.database));
  return kind == datadir::DatabaseKind::kKvorum ? DefragmentOurs(world, layout.database, timeout)
                                                : DefragmentEtcds(world, layout.database, timeout);
}

Outcome<void> RunDefrag(ctl::Invocation& invocation) {
  const std::string& dir = invocation.flags.String("data-dir");
  const std::string path = datadir::Layout(dir, "").database;
  const auto failed = [&dir](const std::string& why) {
    return Fail(ctl::ExitCode::kError, "Failed to defragment etcd data[" + dir + "] (" + why + ")");
  };
  if (const auto there = CheckFile(path); !there) return failed(there.error().message);
  auto acting = datadir::ActingAsOwner::OfMember(dir);
  if (!acting.has_value()) return failed(acting.error().message);
  const auto done = Defragment(invocation.world, datadir::Layout(acting->Reach(dir), ""),
                               invocation.flags.Duration("timeout"));
  if (!done.has_value()) return failed(acting->Named(done.error()).message);
  return {};
}

}  // namespace

ctl::Command DefragCommand() {
  return {.use = "defrag",
          .brief = "Defragments the storage of a member that is stopped",
          .description =
              "Writes the database of a member of kvorum or etcd anew without what deletions have "
              "left free. A member\nthat runs does it by `kvorumctl defrag`, while it goes on "
              "serving.",
          .flags = {{.name = "data-dir",
                     .type = ctl::FlagType::kString,
                     .help = "Required. Defragments a data directory not in use by a server.",
                     .required = true}},
          .run = RunDefrag};
}

}  // namespace kvorum::utl
