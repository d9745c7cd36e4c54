#include "datadir/foreign_files.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/log/logging.h"
#include "datadir/data_directory.h"
#include "wal/segment_name.h"

namespace kvorum::datadir {
namespace {

constexpr std::string_view kInvalidFile = "found invalid file under data directory";
constexpr std::string_view kInWal = "ignored file in WAL directory";
constexpr std::string_view kInSnap = "found unexpected non-snap file; skipping";

constexpr std::size_t kMostLinesOfAFolder = 16;

constexpr auto IsOneOf = [](std::string_view name, const auto&... names) {
  return ((name == names) || ...);
};

// Files in the making, and those that were set aside, have a suffix of their own in every folder.
bool IsTemporary(std::string_view name) {
  return name.ends_with(".tmp") || name.ends_with(".broken");
}

// The log may lie in a separate folder beside `member`.
bool HoldsTheLog(const Layout& layout, std::string_view name) {
  const auto wal = std::filesystem::path(layout.wal).lexically_normal();
  const auto folder = (std::filesystem::path(layout.root) / name).lexically_normal();
  return std::ranges::mismatch(folder, wal).in1 == folder.end();
}

bool BelongsInRoot(const Layout& layout, std::string_view name) {
  return IsOneOf(name, "member", "fixtures", kUnfinishedRestore) || HoldsTheLog(layout, name);
}

bool BelongsInMember(const Layout&, std::string_view name) {
  return IsOneOf(name, "wal", "snap", "format", "lock", "quarantined", "incarnation",
                 "archive-origin.json");
}

bool BelongsInWal(const Layout&, std::string_view name) {
  return IsOneOf(name, "lock", "reserve") || wal::SegmentName::Parse(name).has_value();
}

bool BelongsInSnap(const Layout&, std::string_view name) {
  return IsOneOf(name, "db", "db-lock") || name.starts_with("db.") || name.ends_with(".snap") ||
         name.contains(".snap.db");
}

void FindIn(FileSystem& fs, const Layout& layout, const std::string& folder,
            bool belongs(const Layout& layout, std::string_view name), std::string_view message,
            std::vector<ForeignFile>& found) {
  auto names = fs.List(folder);
  if (!names.has_value()) return;
  std::ranges::sort(*names);
  for (const std::string& name : *names) {
    if (IsTemporary(name) || belongs(layout, name)) continue;
    found.push_back({.message = message, .path = (folder + "/").append(name)});
  }
}

}  // namespace

std::vector<ForeignFile> FindForeignFiles(FileSystem& fs, const Layout& layout) {
  std::vector<ForeignFile> found;
  FindIn(fs, layout, layout.root, BelongsInRoot, kInvalidFile, found);
  FindIn(fs, layout, layout.member, BelongsInMember, kInvalidFile, found);
  FindIn(fs, layout, layout.wal, BelongsInWal, kInWal, found);
  FindIn(fs, layout, layout.snap, BelongsInSnap, kInSnap, found);
  return found;
}

void WarnOfForeignFiles(FileSystem& fs, const Layout& layout) {
  std::map<std::string, std::size_t> in_folder;
  for (const ForeignFile& file : FindForeignFiles(fs, layout)) {
    if (++in_folder[ParentDirectory(file.path)] > kMostLinesOfAFolder) continue;
    KV_WARN(file.message, {"path", file.path}, {"data-dir", layout.root});
  }
  for (const auto& [folder, count] : in_folder) {
    if (count <= kMostLinesOfAFolder) continue;
    KV_WARN("there are more files that are not ours", {"path", folder}, {"files", count});
  }
}

}  // namespace kvorum::datadir
