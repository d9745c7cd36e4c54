#include "mvcc/lmdb/backend_lmdb_look_ahead.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "base/check.h"
#include "mvcc/lmdb/backend_lmdb_pages.h"
#include "mvcc/records/look_ahead.h"

namespace kvorum::mvcc {
namespace {

using lmdb_pages::Load;
using lmdb_pages::PageHeader;

constexpr std::size_t kLineBytes = 64;
// The header and the offsets of as many nodes as a branch holds with keys of revisions.
constexpr std::size_t kOffsetBytes = 5 * kLineBytes;
constexpr std::size_t kMostValueBytes = 16 * kLineBytes;

void PrefetchBytes(const char* begin, std::size_t size_bytes) {
  for (std::size_t at = 0; at < size_bytes; at += kLineBytes) __builtin_prefetch(begin + at);
}

}  // namespace

// The search for one key, in one page at a time.
struct LmdbMappedTree::Search {
  std::string_view key;
  const char* page = nullptr;  // null: the search is over
  std::uint64_t number = 0;    // the page's
  std::uint32_t nodes = 0;     // in the page
  bool is_leaf = false;
  // The place looked for is in [low, high]: in a leaf that of the first key that is not less, in a
  // branch that of the first key that is greater.
  std::uint32_t low = 0;
  std::uint32_t high = 0;
  const char* node = nullptr;  // compared next

  bool searching() const { return page != nullptr && low < high; }
  std::uint32_t middle() const { return low + (high - low) / 2; }
};

const char* FindMapOf(const char* place) {
  const auto address = reinterpret_cast<std::uintptr_t>(place);
  std::ifstream mappings("/proc/self/maps");
  for (std::string line; std::getline(mappings, line);) {
    // begin-end permissions offset ...
    std::istringstream fields(line);
    std::uintptr_t begin = 0;
    std::uintptr_t end = 0;
    std::uintptr_t offset = 0;
    std::string permissions;
    char dash = 0;
    fields >> std::hex >> begin >> dash >> end >> permissions >> offset;
    if (fields && address >= begin && address < end) return place - (address - begin) - offset;
  }
  return nullptr;
}

std::optional<LmdbMappedTree> LmdbMappedTree::Find(const LmdbMap& map, std::uint64_t transaction) {
  if (map.size_bytes == 0 || map.size_bytes < lmdb_pages::kFirstPage * map.page_bytes)
    return std::nullopt;
  const char* const meta_page = map.begin + transaction % 2 * map.page_bytes;
  const auto meta = Load<lmdb_pages::Meta>(meta_page + sizeof(PageHeader));
  if (meta.transaction != transaction) return std::nullopt;
  LmdbMappedTree tree;
  tree.map_ = map;
  tree.pages_ = map.size_bytes / map.page_bytes;
  tree.root_ = meta.main.root;
  return tree;
}

void LmdbMappedTree::Enter(Search& search, std::uint64_t page) const {
  if (page < lmdb_pages::kFirstPage || page >= pages_) {
    search.page = nullptr;
    return;
  }
  search.number = page;
  search.page = map_.begin + page * map_.page_bytes;
  PrefetchBytes(search.page, kOffsetBytes);
}

bool LmdbMappedTree::Begin(Search& search) const {
  const auto header = Load<PageHeader>(search.page);
  search.is_leaf = header.flags == lmdb_pages::kLeafFlag;
  const bool is_branch = header.flags == lmdb_pages::kBranchFlag;
  if (header.number != search.number || (!search.is_leaf && !is_branch) ||
      header.lower <= sizeof(PageHeader) || header.lower > map_.page_bytes) {
    search.page = nullptr;
    return false;
  }
  search.nodes = (header.lower - std::uint32_t{sizeof(PageHeader)}) / 2;
  search.low = is_branch ? 1 : 0;  // a branch's first key counts for nothing
  search.high = search.nodes;
  return true;
}

const char* LmdbMappedTree::NodeAt(const Search& search, std::uint32_t place) const {
  const auto offset = Load<std::uint16_t>(search.page + sizeof(PageHeader) + 2 * place);
  return offset + lmdb_pages::kNodeHeaderBytes <= map_.page_bytes ? search.page + offset : nullptr;
}

std::string_view LmdbMappedTree::KeyOf(const char* page, const char* node) const {
  const auto most =
      static_cast<std::size_t>(page + map_.page_bytes - node) - lmdb_pages::kNodeHeaderBytes;
  const std::size_t size = Load<std::uint16_t>(node + 6);
  return {node + lmdb_pages::kNodeHeaderBytes, std::min(size, most)};
}

bool LmdbMappedTree::End(Search& search) const {
  const std::uint32_t place = search.is_leaf ? search.low : search.low - 1;
  const char* node = place < search.nodes ? NodeAt(search, place) : nullptr;
  if (node != nullptr && !search.is_leaf) {
    const std::uint64_t high_bits = Load<std::uint16_t>(node + 4);
    Enter(search, Load<std::uint32_t>(node) | high_bits << 32);
    return false;
  }
  const char* const page = std::exchange(search.page, nullptr);
  if (node == nullptr) return false;
  const std::string_view key = KeyOf(page, node);
  const char* value = key.data() + key.size();
  const auto left = static_cast<std::size_t>(page + map_.page_bytes - value);
  const bool is_big = (Load<std::uint16_t>(node + 4) & lmdb_pages::kBigDataFlag) != 0;
  if (!is_big) {
    PrefetchBytes(value, std::min({kMostValueBytes, std::size_t{Load<std::uint32_t>(node)}, left}));
  } else if (left >= sizeof(std::uint64_t)) {
    const auto first = Load<std::uint64_t>(value);
    if (first < pages_) PrefetchBytes(map_.begin + first * map_.page_bytes, kMostValueBytes);
  }
  return key == search.key;
}

std::size_t LmdbMappedTree::LookAhead(std::span<const std::string_view> keys) const {
  KV_CHECK(keys.size() <= kMostAhead, "more keys than are looked at together");
  std::array<Search, kMostAhead> all;
  const std::span<Search> searches = std::span(all).first(keys.size());
  for (std::size_t i = 0; i < keys.size(); ++i) {
    searches[i].key = keys[i];
    Enter(searches[i], root_);
  }
  std::size_t found = 0;
  for (unsigned depth = 0; depth < lmdb_pages::kMaxDepth; ++depth) {
    bool any = false;
    for (Search& search : searches) any |= search.page != nullptr && Begin(search);
    if (!any) break;
    while (Step(searches)) {
    }
    for (Search& search : searches) found += search.page != nullptr && End(search) ? 1 : 0;
  }
  return found;
}

bool LmdbMappedTree::Step(std::span<Search> searches) const {
  for (Search& search : searches) {
    if (!search.searching()) continue;
    search.node = NodeAt(search, search.middle());
    __builtin_prefetch(search.node);
  }
  bool any = false;
  for (Search& search : searches) {
    if (!search.searching()) continue;
    any = true;
    if (search.node == nullptr) {
      search.page = nullptr;
      continue;
    }
    const int order = KeyOf(search.page, search.node).compare(search.key);
    if (order < 0 || (order == 0 && !search.is_leaf)) {
      search.low = search.middle() + 1;
    } else {
      search.high = search.middle();
    }
  }
  return any;
}

}  // namespace kvorum::mvcc
