// The bytes of LMDB 0.9's file on a 64-bit little-endian machine, for those who read it without
// LMDB.
//
// FILE: pages of one size, the machine's. Pages 0 and 1 are METAs, written in turn: an even
// transaction writes page 0. The one with the higher transaction id counts.
//
//   HEADER  8 bytes  the page's own number
//           2 bytes  padding
//           2 bytes  flags: 1 branch, 2 leaf, 4 overflow, 8 meta
//           2 bytes  end of the node offsets    } of an overflow page:
//           2 bytes  begin of the nodes         } the count of its pages
//   META    HEADER, then Meta
//   BRANCH, LEAF  HEADER, a 2-byte offset for each node in the order of the keys; the nodes fill
//   the
//           end of the page without a gap, each of an even length
//   NODE    4 bytes  leaf: size of the data; branch: low bits of the child's page
//           2 bytes  leaf: flags, 1 if the data is in overflow pages; branch: high bits of the page
//           2 bytes  size of the key; then key and data, or the number of the first overflow page
//   OVERFLOW  HEADER, then the data; the pages after it have no header
//
// A branch's first key counts for nothing; each other is at most the first key of its child.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace kvorum::mvcc::lmdb_pages {

inline constexpr std::uint32_t kMagic = 0xBEEFC0DE;
inline constexpr std::uint32_t kVersion = 1;

inline constexpr std::uint16_t kBranchFlag = 0x01;
inline constexpr std::uint16_t kLeafFlag = 0x02;
inline constexpr std::uint16_t kOverflowFlag = 0x04;
inline constexpr std::uint16_t kMetaFlag = 0x08;

inline constexpr std::uint16_t kBigDataFlag = 0x01;  // of a leaf's node

// Flags of a tree. The free list's field holds the environment's flags in its high bits as well.
inline constexpr std::uint16_t kIntegerKeyFlag = 0x08;
inline constexpr std::uint16_t kTreeFlags = 0x7f;

inline constexpr std::uint64_t kNoPage = ~std::uint64_t{0};
inline constexpr std::uint64_t kFirstPage = 2;  // that is not a meta page
inline constexpr unsigned kMaxDepth = 32;
inline constexpr std::size_t kNodeHeaderBytes = 8;

struct PageHeader {
  std::uint64_t number;
  std::uint16_t pad;
  std::uint16_t flags;
  std::uint16_t lower;
  std::uint16_t upper;

  std::uint32_t OverflowPages() const { return lower | std::uint32_t{upper} << 16; }
};
static_assert(sizeof(PageHeader) == 16);

struct TreeInfo {
  std::uint32_t pad;  // of the free list: the page size
  std::uint16_t flags;
  std::uint16_t depth;
  std::uint64_t branch_pages;
  std::uint64_t leaf_pages;
  std::uint64_t overflow_pages;
  std::uint64_t entries;
  std::uint64_t root;
};
static_assert(sizeof(TreeInfo) == 48);

struct Meta {
  std::uint32_t magic;
  std::uint32_t version;
  std::uint64_t address;
  std::uint64_t map_size_bytes;
  TreeInfo free_list;
  TreeInfo main;
  std::uint64_t last_page;
  std::uint64_t transaction;
};
static_assert(sizeof(Meta) == 136);

template <class T>
T Load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof(T));
  return value;
}

}  // namespace kvorum::mvcc::lmdb_pages
