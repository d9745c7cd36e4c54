#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/storage_version.h"
#include "base/file_system.h"
#include "base/text/go_number.h"
#include "base/text/go_quote.h"
#include "bbolt/reader.h"
#include "datadir/acting_as_owner.h"
#include "datadir/layout.h"
#include "datadir/migration.h"
#include "datadir/rewrite.h"
#include "datadir/wait_for_lock.h"
#include "mvcc/transfer/etcd_import.h"
#include "tools/text/json.h"
#include "tools/utl/utl_commands.h"
#include "tools/utl/utl_database.h"
#include "tools/utl/utl_log.h"

namespace kvorum::utl {
namespace {

using ctl::Outcome;
using server::Version;

constexpr Version kLowest{.major = 3, .minor = 5, .patch = 0};

std::string MajorMinorText(Version version) {
  return std::to_string(version.major) + "." + std::to_string(version.minor);
}

std::uint32_t Part(std::int64_t number) {
  return static_cast<std::uint32_t>(
      std::clamp<std::int64_t>(number, 0, std::numeric_limits<std::uint32_t>::max()));
}

Outcome<Version> ParseTargetVersion(const std::string& text) {
  if (std::ranges::count(text, '.') != 1) {
    return ctl::BadArguments("wrong target version format, expected \"X.Y\", got " + GoQuote(text));
  }
  // etcd reads "X.Y.0" as a semantic version, which may have a suffix behind - or +.
  if (const std::size_t suffix = text.find_first_of("-+"); suffix != std::string::npos) {
    return ctl::BadArguments("failed to parse target version: " + text.substr(0, suffix) +
                             " is not in dotted-tri format");
  }
  const std::size_t dot = text.find('.');
  const auto major = ParseInt(text.substr(0, dot), 10);
  const auto minor = ParseInt(text.substr(dot + 1), 10);
  if (!major.has_value() || !minor.has_value()) {
    const Error& error = major.has_value() ? minor.error() : major.error();
    return ctl::BadArguments("failed to parse target version: " + error.message);
  }
  const Version version{.major = Part(*major), .minor = Part(*minor), .patch = 0};
  if (version < kLowest)
    return ctl::BadArguments("target version \"" + std::to_string(*major) + "." +
                             std::to_string(*minor) + "\" not supported. Minimal \"3.5\"");
  return version;
}

void TellUpToDate(ctl::World& world, Version version) {
  LogInfo(world, "storage version up-to-date",
          {{"storage-version", ctl::JsonString(MajorMinorText(version))}});
}

Outcome<void> MigrateOurs(ctl::Invocation& invocation, Version target) {
  // Without one, the members decide it when they start.
  if (target == server::kOwnClusterVersion) {
    TellUpToDate(invocation.world, target);
    return {};
  }
  return Fail(ctl::ExitCode::kError,
              "cannot migrate to version " + MajorMinorText(target) +
                  ": a data directory of kvorum has the storage version " +
                  MajorMinorText(server::kOwnClusterVersion) +
                  " and no other; bring the cluster down to that version (kvorumctl downgrade "
                  "enable), then give the directory to etcd (kvorumutl release)");
}

Result<Version> ReadStorageVersion(const std::string& path) {
  KV_TRY(const auto file, bbolt::Reader::Open(PosixFileSystem(), path));
  KV_TRY(const mvcc::EtcdMeta meta, mvcc::ReadEtcdMeta(*file));
  return datadir::DetectStorageVersion(meta);
}

void TellForced(ctl::World& world, Version target) {
  if (datadir::StorageVersionField(target).empty()) {
    LogWarning(world, "forcefully cleared storage version", {});
  } else {
    LogWarning(world, "forcefully set storage version",
               {{"storage-version", ctl::JsonString(MajorMinorText(target))}});
  }
}

// The steps from the database's version to the target; `needed` is what the log wants.
Result<std::vector<Version>> Plan(Version current, Version target, std::optional<Version> needed) {
  KV_TRY(std::vector<Version> steps, datadir::MigrationSteps(current, target));
  if (target < current && needed.has_value() && target < *needed) {
    return kvorum::Fail(
        Code::kFailedPrecondition,
        "cannot downgrade storage, WAL contains newer entries, as the target version (" +
            target.text() + ") is lower than the version (" + needed->text() +
            ") detected from WAL logs");
  }
  return steps;
}

Outcome<void> MigrateEtcds(ctl::Invocation& invocation, const std::string& data_dir,
                           Version target) {
  FileSystem& fs = PosixFileSystem();
  auto acting = datadir::ActingAsOwner::OfMember(data_dir);
  if (!acting.has_value()) return ctl::FailLocally(acting.error());
  const auto failed = [&](const Error& error) { return ctl::FailLocally(acting->Named(error)); };
  const std::string dir = acting->Reach(data_dir);
  const datadir::Layout layout(dir, "");
  const std::string& path = layout.database;
  const Duration timeout = invocation.flags.Duration("timeout");
  const auto member =
      datadir::WaitForLock(timeout, [&] { return datadir::MemberLock::Take(fs, layout); });
  if (!member.has_value()) return failed(member.error());
  const auto lock = datadir::WaitForLock(timeout, [&] { return fs.Lock(path); });
  if (!lock.has_value()) return failed(lock.error());
  const auto current = ReadStorageVersion(path);
  if (!current.has_value()) return failed(current.error());
  if (*current == target) {
    TellUpToDate(invocation.world, target);
    return {};
  }
  const auto needed = datadir::NeededByLog(fs, dir + "/member/wal");
  if (!needed.has_value()) return failed(needed.error());
  const auto steps = Plan(*current, target, *needed);
  if (!steps.has_value()) {
    if (!invocation.flags.Switch("force")) return failed(steps.error());
    LogInfo(invocation.world, "normal migrate failed, trying with force",
            {{"error", ctl::JsonString(steps.error().message)}});
  }
  const auto written = datadir::RewriteEtcds(
      fs, {.path = path, .storage_version = datadir::StorageVersionField(target)});
  if (!written.has_value()) return failed(written.error());
  if (steps.has_value()) {
    for (const Version step : *steps)
      LogInfo(invocation.world, "updated storage version",
              {{"new-storage-version", ctl::JsonString(step.text())}});
  } else {
    TellForced(invocation.world, target);
  }
  return {};
}

Outcome<void> RunMigrate(ctl::Invocation& invocation) {
  KV_TRY(const Version target, ParseTargetVersion(invocation.flags.String("target-version")));
  const std::string& dir = invocation.flags.String("data-dir");
  const std::string path = dir + "/member/snap/db";
  KV_RETURN_IF_ERROR(CheckFile(path));
  const auto kind = datadir::KindOfDatabase(path);
  if (!kind.has_value()) return ctl::FailLocally(kind.error());
  return *kind == datadir::DatabaseKind::kKvorum ? MigrateOurs(invocation, target)
                                                 : MigrateEtcds(invocation, dir, target);
}

}  // namespace

ctl::Command MigrateCommand() {
  return {.use = "migrate",
          .brief = "Makes a data directory of etcd fit for another version of etcd",
          .description =
              "Changes the storage version of a data directory of etcd. One of kvorum has that of "
              "etcd 3.7 and no other:\nit goes to an older etcd by `kvorumctl downgrade enable` "
              "and `kvorumutl release`.",
          .flags = {{.name = "data-dir",
                     .type = ctl::FlagType::kString,
                     .help = "Path to the etcd data dir",
                     .required = true},
                    {.name = "target-version",
                     .type = ctl::FlagType::kString,
                     .help = "Target etcd version to migrate contents of data dir. Minimal value "
                             "3.5. Format \"X.Y\" for example 3.6.",
                     .required = true},
                    {.name = "force",
                     .help = "Ignore migration failure and forcefully override storage version. "
                             "Not recommended."}},
          .run = RunMigrate};
}

}  // namespace kvorum::utl
