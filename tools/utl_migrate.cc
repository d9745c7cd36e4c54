#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "base/go_number.h"
#include "base/go_quote.h"
#include "base/words.h"
#include "mvcc/bucket.h"
#include "tools/json.h"
#include "tools/utl_commands.h"
#include "tools/utl_database.h"
#include "tools/utl_log.h"

namespace kvorum::utl {
namespace {

using ctl::Outcome;

struct Version {
  std::int64_t major = 0;
  std::int64_t minor = 0;
  std::string Text() const { return std::to_string(major) + "." + std::to_string(minor); }
  friend auto operator<=>(const Version&, const Version&) = default;
};

constexpr Version kLowest{3, 5};
constexpr Version kOurs{3, 7};

Outcome<Version> ParseTarget(const std::string& text) {
  if (std::ranges::count(text, '.') != 1) {
    return ctl::BadArguments("wrong target version format, expected \"X.Y\", got " + GoQuote(text));
  }
  const std::size_t dot = text.find('.');
  const auto major = ParseInt(text.substr(0, dot), 10);
  const auto minor = ParseInt(text.substr(dot + 1), 10);
  if (!major.has_value() || !minor.has_value()) {
    const Error& error = major.has_value() ? minor.error() : major.error();
    return ctl::BadArguments("failed to parse target version: " + error.message);
  }
  const Version version{*major, *minor};
  if (version < kLowest)
    return ctl::BadArguments("target version " + GoQuote(version.Text()) +
                             " not supported. Minimal \"3.5\"");
  return version;
}

Outcome<void> RunMigrate(ctl::Invocation& invocation) {
  KV_TRY(const Version target, ParseTarget(invocation.flags.String("target-version")));
  const std::string& dir = invocation.flags.String("data-dir");
  const std::string path = dir + "/member/snap/db";
  KV_RETURN_IF_ERROR(CheckFile(path));
  KV_TRY(const auto database, OpenDatabase(invocation, path));
  if (database->kind() != datadir::DatabaseKind::kKvorum) {
    return Fail(ctl::ExitCode::kError,
                dir + " is a data directory of etcd: its own etcdutl migrates it");
  }
  const auto stored = database->GetMeta(mvcc::meta_key::kStorageVersion);
  if (!stored.has_value()) return Fail(ctl::ExitCode::kError, stored.error().message);
  if (target == kOurs) {
    // Without one, the members decide it when they start.
    LogInfo(invocation.world, "storage version up-to-date",
            {{"storage-version", ctl::JsonString(kOurs.Text())}});
    return {};
  }
  return Fail(ctl::ExitCode::kError,
              "cannot migrate to version " + target.Text() +
                  ": a data directory of kvorum has the storage version " + kOurs.Text() +
                  " and no other; restore a snapshot with the etcdutl of that version");
}

}  // namespace

ctl::Command MigrateCommand() {
  return {.use = "migrate",
          .brief = "Tells if a data directory has the storage version that it should have",
          .description =
              "A data directory of kvorum has one storage version, that of etcd 3.7: there is "
              "nothing to change, and no\nother version to go to, also with --force.",
          .flags = {{.name = "data-dir",
                     .type = ctl::FlagType::kString,
                     .help = "Path to the etcd data dir",
                     .required = true},
                    {.name = "target-version",
                     .type = ctl::FlagType::kString,
                     .help = "Target etcd version to migrate contents of data dir. Minimal value "
                             "3.5. Format \"X.Y\" for example 3.6.",
                     .required = true},
                    {.name = "force", .help = "accepted and without effect"}},
          .run = RunMigrate};
}

}  // namespace kvorum::utl
