#include "datadir/migration.h"

#include <algorithm>
#include <string_view>

#include "api/entries/internal_request.h"
#include "api/storage_version.h"
#include "base/text/go_quote.h"
#include "wal/wal.h"

namespace kvorum::datadir {
namespace {

using server::Version;

constexpr Version kFirst{.major = 3, .minor = 5, .patch = 0};

std::optional<Version> NeededBy(const raft::Entry& entry) {
  if (entry.type != raft::EntryType::kNormal) return std::nullopt;
  // The one field since 3.6.
  std::optional<Version> needed;
  for (const std::string_view text : server::VersionTestsIn(entry.data.view())) {
    const Version asked = Version::Parse(text).value_or(server::kFirstStorageVersion);
    needed = std::max(
        {needed.value_or(server::kFirstStorageVersion), server::kFirstStorageVersion, asked});
  }
  return needed;
}

std::unexpected<Error> NoPlan(const std::string& why) {
  return Fail(Code::kInvalidArgument, "cannot create migration plan: " + why);
}

}  // namespace

Result<Version> DetectStorageVersion(const mvcc::EtcdMeta& meta) {
  if (const auto version = Version::Parse(meta.storage_version); version.has_value())
    return *version;
  if (meta.term != 0) return kFirst;
  return Fail(Code::kFailedPrecondition, "missing term information");
}

Result<std::vector<Version>> MigrationSteps(Version from, Version target) {
  if (from.major != target.major) return NoPlan("changing major storage version is not supported");
  std::vector<Version> steps;
  Version at{.major = from.major, .minor = from.minor, .patch = 0};
  while (at.minor != target.minor) {
    const bool goes_up = at.minor < target.minor;
    // The changes between two versions are those of the later one.
    const Version changes{.major = at.major, .minor = at.minor + (goes_up ? 1 : 0), .patch = 0};
    if (changes < server::kFirstStorageVersion || changes > server::kOwnClusterVersion)
      return NoPlan("version " + GoQuote(changes.text()) + " is not supported");
    at.minor = goes_up ? at.minor + 1 : at.minor - 1;
    steps.push_back(at);
  }
  return steps;
}

std::string StorageVersionField(Version version) {
  return version < server::kFirstStorageVersion ? "" : version.text();
}

Result<std::optional<Version>> NeededByLog(FileSystem& fs, const std::string& wal_dir) {
  KV_TRY(const auto markers, wal::ListMarkers(fs, wal_dir));
  const wal::SnapshotMarker from = markers.empty() ? wal::SnapshotMarker{} : markers.back();
  KV_TRY(const wal::Contents log, wal::Read(fs, wal_dir, from));
  std::optional<Version> needed;
  for (const raft::Entry& entry : log.entries) needed = std::max(needed, NeededBy(entry));
  return needed;
}

}  // namespace kvorum::datadir
