#include "datadir/snapshot_files.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "base/crc32c.h"
#include "base/log/logging.h"
#include "proto/raft_tables.h"

namespace kvorum::datadir {
namespace {

constexpr std::uint64_t kMaxFileBytes = std::uint64_t{64} << 20;
constexpr std::string_view kReceivedSuffix = ".snap.db";

std::string FileName(const raft::SnapshotMetadata& metadata) {
  std::array<char, 40> name{};
  const int length = std::snprintf(name.data(), name.size(), "%016llx-%016llx.snap",
                                   static_cast<unsigned long long>(metadata.term.value()),
                                   static_cast<unsigned long long>(metadata.index.value()));
  return {name.data(), static_cast<std::size_t>(length)};
}

// Names sort by term, then index, since both are padded hex.
Result<std::vector<std::string>> NewestFirst(FileSystem& fs, const std::string& dir) {
  KV_TRY(std::vector<std::string> names, fs.List(dir));
  std::erase_if(names, [](const std::string& name) { return !name.ends_with(".snap"); });
  std::ranges::sort(names, std::greater<>());
  return names;
}

}  // namespace

Result<raft::SnapshotMetadata> ReadSnapshotFile(FileSystem& fs, const std::string& path) {
  KV_TRY(const std::string content, ReadWholeFile(fs, path, kMaxFileBytes));
  raft::SnapshotFile file;
  if (wire::Decode(raft::kSnapshotFileTable, content, file) != wire::Decoded::kOk ||
      file.data.empty())
    return Fail(Code::kDataLoss, "snap: " + path + " is malformed");
  if (Crc32c(0, file.data) != file.crc32c)
    return Fail(Code::kDataLoss, "snap: " + path + ": crc mismatch");
  KV_TRY(const raft::Snapshot snapshot, raft::DecodeSnapshot(SharedBytes::Copy(file.data)));
  return snapshot.metadata;
}

Result<void> SaveSnapshotFile(FileSystem& fs, const std::string& dir,
                              const raft::SnapshotMetadata& metadata,
                              std::string_view snapshot_data) {
  const std::string data =
      raft::Encode(raft::Snapshot{.data = SharedBytes::Copy(snapshot_data), .metadata = metadata});
  const std::string content =
      wire::Encode(raft::kSnapshotFileTable, {.crc32c = Crc32c(0, data), .data = data});
  return WriteFileAtomically(fs, dir + "/" + FileName(metadata), content);
}

Result<std::optional<raft::SnapshotMetadata>> LoadNewestSnapshotFile(
    FileSystem& fs, const std::string& dir,
    const std::function<bool(const raft::SnapshotMetadata&)>& valid) {
  KV_TRY(const std::vector<std::string> names, NewestFirst(fs, dir));
  for (const std::string& name : names) {
    const std::string path = (dir + "/").append(name);
    const auto metadata = ReadSnapshotFile(fs, path);
    if (metadata.has_value()) {
      if (valid(*metadata)) return *metadata;
      continue;
    }
    if (metadata.error().code != Code::kDataLoss) return std::unexpected(metadata.error());
    KV_WARN("set a damaged snapshot file aside", {"path", path},
            {"error", metadata.error().message});
    KV_RETURN_IF_ERROR(fs.Rename(path, path + ".broken"));
  }
  return std::nullopt;
}

Result<void> SetNewerSnapshotFilesAside(FileSystem& fs, const std::string& dir,
                                        const raft::SnapshotMetadata& newest) {
  KV_TRY(const std::vector<std::string> names, NewestFirst(fs, dir));
  for (const std::string& name : names) {
    if (name <= FileName(newest)) break;
    const std::string path = (dir + "/").append(name);
    KV_INFO("set a snapshot file aside that the log does not know", {"path", path});
    KV_RETURN_IF_ERROR(fs.Rename(path, path + ".broken"));
  }
  return {};
}

std::string ReceivedSnapshotPath(const std::string& dir, raft::Index index) {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "/%016llx",
                static_cast<unsigned long long>(index.value()));
  return (dir + name.data()).append(kReceivedSuffix);
}

Result<void> RemoveReceivedSnapshots(FileSystem& fs, const std::string& dir,
                                     raft::Index except_index) {
  const std::string kept = ReceivedSnapshotPath(dir, except_index);
  KV_TRY(const std::vector<std::string> names, fs.List(dir));
  for (const std::string& name : names) {
    // Unfinished ones and LMDB's lock files have a longer suffix.
    if (name.find(kReceivedSuffix) == std::string::npos) continue;
    const std::string path = (dir + "/").append(name);
    if (path == kept) continue;
    KV_INFO("removing what is left of a received snapshot", {"path", path});
    KV_RETURN_IF_ERROR(fs.Remove(path));
  }
  return {};
}

Result<void> PurgeSnapshotFiles(FileSystem& fs, const std::string& dir, std::size_t keep) {
  if (keep == 0) return {};
  KV_TRY(const std::vector<std::string> names, NewestFirst(fs, dir));
  for (std::size_t i = keep; i < names.size(); ++i)
    KV_RETURN_IF_ERROR(fs.Remove(dir + "/" + names[i]));
  return {};
}

}  // namespace kvorum::datadir
