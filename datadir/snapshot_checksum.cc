#include "datadir/snapshot_checksum.h"

#include <algorithm>

namespace kvorum::datadir {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;

// Prints bytes as Go does.
std::string NumbersOf(std::string_view bytes) {
  std::string text = "[";
  for (const char byte : bytes) {
    if (text.size() > 1) text += ' ';
    text += std::to_string(static_cast<unsigned char>(byte));
  }
  return text + "]";
}

}  // namespace

Error HashMismatch(std::string_view expected, std::string_view got) {
  return {Code::kDataLoss, "expected sha256 " + NumbersOf(expected) + ", got " + NumbersOf(got)};
}

Result<void> CheckSnapshotHash(FileSystem& fs, const std::string& path) {
  KV_TRY(const auto file, fs.Open(path, FileSystem::OpenMode::kRead));
  KV_TRY(const std::uint64_t size_bytes, file->Size());
  if (size_bytes < kSnapshotHashBytes)
    return Fail(Code::kDataLoss, "seek " + path + ": invalid argument");
  if (!HasSnapshotHash(size_bytes))
    return Fail(Code::kDataLoss, "snapshot missing hash but --skip-hash-check=false");
  const std::uint64_t end = size_bytes - kSnapshotHashBytes;
  Sha256 hash;
  std::string buffer(kReadBytes, '\0');
  for (std::uint64_t at = 0; at < end;) {
    const std::size_t wanted = std::min<std::uint64_t>(buffer.size(), end - at);
    KV_TRY(const std::size_t got, file->ReadAt(at, buffer.data(), wanted));
    if (got == 0) return Fail(Code::kDataLoss, path + " became shorter");
    hash.Add(std::string_view(buffer).substr(0, got));
    at += got;
  }
  std::string expected(kSnapshotHashBytes, '\0');
  KV_TRY(const std::size_t got, file->ReadAt(end, expected.data(), expected.size()));
  if (got != expected.size()) return Fail(Code::kDataLoss, path + " became shorter");
  if (const std::string actual = hash.Finish(); actual != expected)
    return std::unexpected(HashMismatch(expected, actual));
  return {};
}

}  // namespace kvorum::datadir
