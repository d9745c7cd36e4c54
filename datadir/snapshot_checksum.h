// The SHA-256 that ends a saved snapshot: 32 bytes behind the database, whose size is a multiple of
// 512. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/digest/sha256.h"
#include "base/error.h"
#include "base/file_system.h"

namespace kvorum::datadir {

inline constexpr std::size_t kSnapshotHashBytes = kSha256Bytes;

// The refusal of a snapshot whose content has another hash than it says.
Error HashMismatch(std::string_view expected, std::string_view got);

// True if a file of this size ends with a hash.
constexpr bool HasSnapshotHash(std::uint64_t size_bytes) {
  return size_bytes % 512 == kSnapshotHashBytes;
}

// kDataLoss if the file has another hash than it says, or none.
Result<void> CheckSnapshotHash(FileSystem& fs, const std::string& path);

}  // namespace kvorum::datadir
