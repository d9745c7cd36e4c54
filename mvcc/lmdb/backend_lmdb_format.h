// The LMDB backend's data layout, for its reader and its writer.
//
// All buckets share LMDB's one unnamed tree. A tree key is a byte that names the bucket, then the
// bucket's key; `key` has the highest byte, so that a new revision is the last key of the tree and
// can be appended. One tree instead of one per bucket keeps a small database small (a commit copies
// two pages instead of five) and makes the count of live pages a look at two numbers. The lowest
// key names the program and the layout; a file without it is refused. A stored value is the
// bucket's value, then the CRC-32C of tree key and value, 4 bytes little-endian: LMDB's pages carry
// no checksum.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/crc32c.h"
#include "mvcc/records/bucket.h"

namespace kvorum::mvcc::lmdb_format {

inline constexpr char kRevisionTag = '\x7f';
// The tags of the other buckets, by Bucket; they never change.
inline constexpr std::array<char, 10> kTags = {kRevisionTag, '\x01', '\x02', '\x03', '\x04',
                                               '\x05',       '\x06', '\x07', '\x08', '\x09'};
constexpr char TagOf(Bucket bucket) { return kTags[static_cast<std::size_t>(bucket)]; }

inline constexpr std::string_view kFormatKey{"\0format", 7};
inline constexpr std::string_view kFormat = "kvorum 1";

inline constexpr std::size_t kMaxTreeKeySizeBytes = 511;  // LMDB's own limit
static_assert(kMaxBucketKeySizeBytes + 1 == kMaxTreeKeySizeBytes);

// Immutable.
class TreeKey {
 public:
  TreeKey(Bucket bucket, std::string_view key) : size_(key.size() + 1) {
    KV_CHECK(key.size() <= kMaxBucketKeySizeBytes, "bucket key too long");
    bytes_[0] = TagOf(bucket);
    key.copy(bytes_.data() + 1, key.size());
  }
  // A key after all keys of the bucket and before those of the next.
  static TreeKey EndOf(Bucket bucket) {
    TreeKey end(bucket, {});
    ++end.bytes_[0];
    return end;
  }
  std::string_view view() const { return {bytes_.data(), size_}; }

 private:
  std::array<char, kMaxTreeKeySizeBytes> bytes_;  // uninitialised behind size_
  std::size_t size_;
};

inline constexpr std::size_t kChecksumSizeBytes = 4;

inline std::uint32_t Checksum(std::string_view tree_key, std::string_view value) {
  return Crc32c(Crc32c(0, tree_key), value);
}

// Writes value and checksum: value.size() + kChecksumSizeBytes bytes.
inline void Seal(std::string_view tree_key, std::string_view value, char* out) {
  value.copy(out, value.size());
  const std::uint32_t crc = Checksum(tree_key, value);
  for (std::size_t i = 0; i < kChecksumSizeBytes; ++i) {
    out[value.size() + i] = static_cast<char>(crc >> (8 * i));
  }
}

// The value within a stored value, or nullopt if the checksum does not match.
inline std::optional<std::string_view> Unseal(std::string_view tree_key, std::string_view stored) {
  if (stored.size() < kChecksumSizeBytes) return std::nullopt;
  const std::string_view value = stored.substr(0, stored.size() - kChecksumSizeBytes);
  std::uint32_t crc = 0;
  for (std::size_t i = 0; i < kChecksumSizeBytes; ++i) {
    crc |= std::uint32_t{static_cast<unsigned char>(stored[value.size() + i])} << (8 * i);
  }
  if (crc != Checksum(tree_key, value)) return std::nullopt;
  return value;
}

}  // namespace kvorum::mvcc::lmdb_format
