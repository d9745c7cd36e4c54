#include <algorithm>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>

#include "base/file_system.h"
#include "base/text/duration_text.h"
#include "base/text/human_bytes.h"
#include "datadir/acting_as_owner.h"
#include "datadir/database_file.h"
#include "datadir/layout.h"
#include "datadir/rewrite.h"
#include "datadir/wait_for_lock.h"
#include "mvcc/index/index_file.h"
#include "mvcc/lmdb/backend.h"
#include "tools/shell/progress_bar.h"
#include "tools/shell/step_progress.h"
#include "tools/text/json.h"
#include "tools/utl/utl_commands.h"
#include "tools/utl/utl_database.h"
#include "tools/utl/utl_log.h"

namespace kvorum::utl {
namespace {

using ctl::Outcome;

// The copy grows in a separate file, whose size is its progress.
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

std::uint64_t SizeOf(const std::string& path) {
  std::error_code not_there;
  const std::uint64_t size = std::filesystem::file_size(path, not_there);
  return not_there ? 0 : size;
}

// Writes etcdutl's two lines around it.
Result<void> DefragmentAloud(ctl::World& world, const datadir::Layout& layout,
                             const std::string& shown_path, Duration timeout) {
  KV_TRY(const datadir::DatabaseKind kind, datadir::KindOfDatabase(layout.database));
  const std::uint64_t before = SizeOf(layout.database);
  const auto begin = std::chrono::steady_clock::now();
  LogInfo(world, "defragmenting",
          {{"path", ctl::JsonString(shown_path)},
           {"current-db-size-bytes", std::to_string(before)},
           {"current-db-size", ctl::JsonString(HumanBytes(before))}});
  KV_RETURN_IF_ERROR(kind == datadir::DatabaseKind::kKvorum
                         ? DefragmentOurs(world, layout.database, timeout)
                         : DefragmentEtcds(world, layout.database, timeout));
  const std::uint64_t after = SizeOf(layout.database);
  const std::int64_t difference =
      static_cast<std::int64_t>(after) - static_cast<std::int64_t>(before);
  LogInfo(world, "finished defragmenting directory",
          {{"path", ctl::JsonString(shown_path)},
           {"current-db-size-bytes-diff", std::to_string(difference)},
           {"current-db-size-bytes", std::to_string(after)},
           {"current-db-size", ctl::JsonString(HumanBytes(after))},
           {"took", ctl::JsonString(FormatDuration(std::chrono::steady_clock::now() - begin))}});
  return {};
}

Result<void> Defragment(ctl::World& world, const datadir::Layout& layout,
                        const std::string& shown_path, Duration timeout) {
  KV_TRY(const datadir::MemberLock lock, datadir::WaitForLock(timeout, [&] {
           return datadir::MemberLock::Take(PosixFileSystem(), layout);
         }));
  KV_RETURN_IF_ERROR(datadir::RemoveLeftovers(PosixFileSystem(), layout));
  return DefragmentAloud(world, layout, shown_path, timeout);
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
  const auto done = Defragment(invocation.world, datadir::Layout(acting->Reach(dir), ""), path,
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
