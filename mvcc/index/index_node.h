// The nodes of the key index's tree and the search in one.
//
// All entries are in the leaves. Leaves and inner nodes begin alike: sorted keys, in an inner node
// the first of each child, borrowed from the entry that holds it. Beside each key are its four
// bytes after the common prefix of the node's keys, as a number: most comparisons of a search use
// these, without following a pointer to a key that is not in the cache.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "mvcc/index/key_entry.h"

namespace kvorum::mvcc::index {

// docs/decisions/0001-btree-fan-out.md; tests and the benchmark are also built with others.
#ifdef KVORUM_KEY_INDEX_FAN_OUT
inline constexpr int kFanOut = KVORUM_KEY_INDEX_FAN_OUT;
#else
inline constexpr int kFanOut = 64;
#endif
static_assert(kFanOut >= 4);

struct Node {
  std::uint64_t birth;  // the version of the tree that created it
  std::uint32_t size;
  std::uint32_t prefix;  // every key begins with the same `prefix` bytes
  std::array<std::uint32_t, kFanOut> heads;
  std::array<Entry*, kFanOut> keys;

  int count() const { return static_cast<int>(size); }
  std::string_view key(int slot) const { return keys[static_cast<std::size_t>(slot)]->key(); }
};

struct Leaf : Node {
  Entry*& entry(int slot) { return keys[static_cast<std::size_t>(slot)]; }
  const Entry& entry(int slot) const { return *keys[static_cast<std::size_t>(slot)]; }
};

// An inner node's knowledge of a subtree.
struct Summary {
  std::int64_t live = 0;         // keys alive at the newest revision
  std::int64_t newest = 0;       // the highest main revision of any entry
  std::int64_t oldest = kNever;  // the lowest main revision of any entry, its older ones included
  std::int64_t lowest_compaction = kNever;

  void Add(const Summary& other) {
    live += other.live;
    newest = std::max(newest, other.newest);
    oldest = std::min(oldest, other.oldest);
    lowest_compaction = std::min(lowest_compaction, other.lowest_compaction);
  }
  // Adds the effect of a change, which is newer than all before it.
  void AddChange(std::int64_t change_of_live, std::int64_t revision, std::int64_t compaction) {
    live += change_of_live;
    newest = revision;
    lowest_compaction = std::min(lowest_compaction, compaction);
  }
  // True if no key below is known to live at the revision; a reader need not go there. False does
  // not promise one, unless newest <= revision.
  bool HidesAll(std::int64_t revision) const {
    return oldest > revision || (live == 0 && newest <= revision);
  }
  friend bool operator==(const Summary&, const Summary&) = default;
};

struct Inner : Node {
  struct Child {
    Node* node;
    Summary summary;
  };
  std::array<Child, kFanOut> children;

  Child& child(int slot) { return children[static_cast<std::size_t>(slot)]; }
  const Child& child(int slot) const { return children[static_cast<std::size_t>(slot)]; }
};

// The bytes of a node that are in use: a copy needs no more.
inline std::size_t UsedBytes(const Leaf& /*leaf*/) { return sizeof(Leaf); }
inline std::size_t UsedBytes(const Inner& inner) {
  return sizeof(Inner) - (kFanOut - inner.size) * sizeof(Inner::Child);
}

inline const Leaf& AsLeaf(const Node& node) { return static_cast<const Leaf&>(node); }
inline Leaf& AsLeaf(Node& node) { return static_cast<Leaf&>(node); }
inline const Inner& AsInner(const Node& node) { return static_cast<const Inner&>(node); }
inline Inner& AsInner(Node& node) { return static_cast<Inner&>(node); }

// The bytes [prefix, prefix + 4) as a big-endian number, missing ones as 0: if two keys with that
// prefix have different heads, the heads compare as the keys do.
inline std::uint32_t HeadOf(std::string_view key, std::size_t prefix) {
  if (key.size() >= prefix + 4) [[likely]] {
    std::uint32_t bytes = 0;
    std::memcpy(&bytes, key.data() + prefix, 4);
    if constexpr (std::endian::native == std::endian::little) bytes = std::byteswap(bytes);
    return bytes;
  }
  std::uint32_t head = 0;
  for (std::size_t i = prefix; i < prefix + 4; ++i) {
    head = head << 8 | (i < key.size() ? static_cast<std::uint8_t>(key[i]) : 0U);
  }
  return head;
}

// The length of the common prefix.
std::size_t CommonPrefix(std::string_view a, std::string_view b);

struct Position {
  int slot;
  bool equal;
};
// Returns the first slot whose key is not less than `key`, or the node's size, and whether it is
// that key.
Position Search(const Node& node, std::string_view key);
// The entry with exactly that key, or null: cheaper than Search if it is missing.
const Entry* Find(const Leaf& leaf, std::string_view key);
// The child that contains, or would contain, `key`. ChildSlot also prefetches what a search in that
// child needs.
int FindChild(const Inner& inner, std::string_view key);
int ChildSlot(const Inner& inner, std::string_view key);
// Prefetches the node's header and heads, with which a search begins.
void PrefetchSearch(const Node& node);
// The slot whose key a search compares first; a guess if several have the key's head. The node is
// not empty.
int FirstLook(const Node& node, std::string_view key);

// Recomputes prefix and heads, with the longest prefix possible. O(size).
void SetHeads(Node& node);
// Puts another entry into an existing slot, without reading the previous one, which may be freed.
// The order of the keys must stay.
void ReplaceKey(Node& node, int slot, Entry* entry);

// Insert and remove slots; the node must have room, or the slots.
void InsertEntry(Leaf& leaf, int slot, Entry* entry);
void InsertChild(Inner& inner, int slot, Inner::Child child);
void RemoveSlots(Leaf& leaf, int slot, int count);
void RemoveSlots(Inner& inner, int slot, int count);
// Appends the slots [slot, from.size) of `from` to `to`, which must have room.
void AppendTail(const Leaf& from, int slot, Leaf& to);
void AppendTail(const Inner& from, int slot, Inner& to);
// Cuts off the slots from `slot` on.
void Truncate(Node& node, int slot);

Summary Summarize(const Entry& entry);
Summary Summarize(const Leaf& leaf);
Summary Summarize(const Inner& inner);

}  // namespace kvorum::mvcc::index
