// Fetches from memory what the look-ups of several records will read in a mapped LMDB file. LMDB
// searches for one key at a time, and waits for memory at most of its steps. Here the searches for
// several go down the tree side by side and wait together; those of LMDB that follow find it all in
// the cache. Nothing depends on what it finds, and what makes no sense ends it.
//
// LMDB tells neither where its map lies nor where a tree begins. The kernel knows the first, and
// the second stands in the meta page that belongs to the transaction (backend_lmdb_pages.h).
//
// Used by the thread of the transaction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace kvorum::mvcc {

// The address at which offset 0 of the file lies that is mapped at `place`; null if it cannot be
// found. Reads the list of the process's mappings.
const char* FindMapOf(const char* place);

// A mapped file. Nothing beyond its bytes is read.
struct LmdbMap {
  const char* begin = nullptr;
  std::uint64_t page_bytes = 0;
  std::uint64_t size_bytes = 0;
};

// The unnamed tree in one of its states. Its pages stay as they are while a transaction shows it.
class LmdbMappedTree {
 public:
  // Finds the tree that the transaction sees. nullopt: later commits have overwritten its meta
  // page. They may do so while it is read: then the tree may be one of theirs, or lead nowhere.
  static std::optional<LmdbMappedTree> Find(const LmdbMap& map, std::uint64_t transaction);

  // Returns how many of the keys it found. At most kMostAhead.
  std::size_t LookAhead(std::span<const std::string_view> keys) const;

 private:
  struct Search;

  void Enter(Search& search, std::uint64_t page) const;
  // Reads the header of the page that was entered. False, and the search is over, if it is not a
  // page of a tree.
  bool Begin(Search& search) const;
  // The node, if it lies within the page.
  const char* NodeAt(const Search& search, std::uint32_t place) const;
  std::string_view KeyOf(const char* page, const char* node) const;
  // One step of each search that goes on in its page; false if there is none.
  bool Step(std::span<Search> searches) const;
  // Ends the search in a page: goes on to the child, or to the value. True if the key was found.
  bool End(Search& search) const;

  LmdbMap map_;
  std::uint64_t pages_ = 0;
  std::uint64_t root_ = 0;
};

}  // namespace kvorum::mvcc
