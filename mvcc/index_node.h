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
#include <cstdint>
#include <cstring>
#include <string_view>

#include "mvcc/key_entry.h"

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
  std::int64_t live = 0;    // keys alive at the newest revision
  std::int64_t newest = 0;  // the highest main revision of any entry
  std::int64_t lowest_compaction = kNever;

  void Add(const Summary& other) {
    live += other.live;
    newest = std::max(newest, other.newest);
    lowest_compaction = std::min(lowest_compaction, other.lowest_compaction);
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
