// The bytes of a bbolt file (format 2), shared by reader and writer. Little-endian.
//
// FILE: pages of one size, a power of two. Pages 0 and 1 are METAs; every transaction replaces the
// older of the two. A page whose content is longer than a page goes on in `overflow` pages after
// it.
//
//   HEADER    8 bytes  the page's own id
//             2 bytes  flags: 1 branch, 2 leaf, 4 meta, 16 freelist
//             2 bytes  count of elements
//             4 bytes  overflow
//   META      HEADER, then
//             4 bytes  0xED0CDAED
//             4 bytes  2
//             4 bytes  page size
//             4 bytes  flags, 0
//             16 bytes root BUCKET
//             8 bytes  freelist's page, or all ones: none is kept, all pages out of reach are free
//             8 bytes  high water: every page in use has a lower id
//             8 bytes  transaction id
//             8 bytes  FNV-1a (64 bits) over the bytes from the magic to here
//   FREELIST  HEADER, then 8-byte page ids; a count of 0xFFFF: the true one is in front of them
//   BRANCH    HEADER, ELEMENTs of 16 bytes (4 offset, 4 key size, 8 page id), then their keys
//   LEAF      HEADER, ELEMENTs of 16 bytes (4 flags: 1 if a bucket, 4 offset, 4 key size, 4 value
//             size), then key and value of each
//   BUCKET    8 bytes  its tree's root page; 0: the tree is a LEAF (of id 0) that follows inline
//             8 bytes  sequence
//
// An offset counts from its element. Keys and values follow the elements without a gap, in order:
// bbolt has always written them so, and the reader relies on it to recognise damage, since pages
// have no checksum. Keys ascend. A branch's key is at most the first key of its page.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace kvorum::bbolt {

using PageId = std::uint64_t;

inline constexpr std::uint16_t kBranchFlag = 1;
inline constexpr std::uint16_t kLeafFlag = 2;
inline constexpr std::uint16_t kMetaFlag = 4;
inline constexpr std::uint16_t kFreelistFlag = 16;

inline constexpr std::uint32_t kMagic = 0xED0CDAED;
inline constexpr std::uint32_t kFormatVersion = 2;
inline constexpr PageId kNoFreelist = UINT64_MAX;
inline constexpr std::uint16_t kLargeFreelistCount = 0xFFFF;
inline constexpr std::uint32_t kBucketElementFlag = 1;

inline constexpr std::size_t kHeaderBytes = 16;
inline constexpr std::size_t kElementBytes = 16;
inline constexpr std::size_t kBucketBytes = 16;
inline constexpr std::size_t kMetaBytes = 64;  // after the header

inline constexpr std::uint32_t kMinPageSize = 1024;
inline constexpr std::uint32_t kMaxPageSize = 65536;

// bbolt's own limits.
inline constexpr std::size_t kMaxKeyBytes = 32768;
inline constexpr std::size_t kMaxValueBytes = (std::size_t{1} << 31) - 2;

static_assert(std::endian::native == std::endian::little);

template <class T>
T Load(std::string_view bytes, std::size_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at, sizeof(T));
  return value;
}
template <class T>
void Append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof(T));
}

struct PageHeader {
  PageId id = 0;
  std::uint16_t flags = 0;
  std::uint16_t count = 0;
  std::uint32_t overflow = 0;
};

inline PageHeader LoadHeader(std::string_view page) {
  return {.id = Load<PageId>(page, 0),
          .flags = Load<std::uint16_t>(page, 8),
          .count = Load<std::uint16_t>(page, 10),
          .overflow = Load<std::uint32_t>(page, 12)};
}
inline void AppendHeader(std::string& out, const PageHeader& header) {
  Append(out, header.id);
  Append(out, header.flags);
  Append(out, header.count);
  Append(out, header.overflow);
}

}  // namespace kvorum::bbolt
