#include "mvcc/index/index_node.h"

#include <algorithm>
#include <cstddef>

namespace kvorum::mvcc::index {
namespace {

// The slots whose head equals that of the key: [begin, end).
struct HeadRange {
  std::uint32_t begin;
  std::uint32_t end;
};

HeadRange FindHead(const Node& node, std::uint32_t head) {
  const std::uint32_t* heads = node.heads.data();
  // Without branches: the half to take is random, and a misprediction costs more than all the
  // steps.
  std::uint32_t begin = 0;
  for (std::uint32_t length = node.size; length > 0;) {
    const std::uint32_t half = length - length / 2;
    begin += heads[begin + half - 1] < head ? half : 0;
    length -= half;
  }
  std::uint32_t end = begin;
  if (end < node.size && heads[end] == head) {
    end =
        static_cast<std::uint32_t>(std::upper_bound(heads + end, heads + node.size, head) - heads);
  }
  return {begin, end};
}

// Compares the key with the prefix that all keys of the node have: 0 if it has the prefix too.
int ComparePrefix(const Node& node, std::uint32_t slot, std::string_view key) {
  if (node.prefix == 0) return 0;
  return key.substr(0, node.prefix).compare(node.keys[slot]->key().substr(0, node.prefix));
}

// Searches the slots of a head range; the slot `prefix_from` shows the node's prefix.
Position SearchRange(const Node& node, std::string_view key, HeadRange range,
                     std::uint32_t prefix_from) {
  const int prefix = ComparePrefix(node, prefix_from, key);
  if (prefix != 0) return {prefix < 0 ? 0 : node.count(), false};
  const std::string_view rest = key.substr(node.prefix);
  while (range.begin < range.end) {
    const std::uint32_t middle = range.begin + (range.end - range.begin) / 2;
    const int order = node.keys[middle]->key().substr(node.prefix).compare(rest);
    if (order == 0) return {static_cast<int>(middle), true};
    if (order < 0) {
      range.begin = middle + 1;
    } else {
      range.end = middle;
    }
  }
  return {static_cast<int>(range.begin), false};
}

template <typename Array>
void ShiftUp(Array& array, std::uint32_t slot, std::uint32_t size) {
  std::move_backward(array.begin() + slot, array.begin() + size, array.begin() + size + 1);
}

template <typename Array>
void ShiftDown(Array& array, std::uint32_t slot, std::uint32_t count, std::uint32_t size) {
  std::move(array.begin() + slot + count, array.begin() + size, array.begin() + slot);
}

void SetHeads(Node& node, std::size_t prefix) {
  node.prefix = static_cast<std::uint32_t>(prefix);
  for (int slot = 0; slot < node.count(); ++slot) {
    node.heads[static_cast<std::size_t>(slot)] = HeadOf(node.key(slot), prefix);
  }
}

void InsertKey(Node& node, std::uint32_t slot, Entry* entry) {
  ShiftUp(node.heads, slot, node.size);
  ShiftUp(node.keys, slot, node.size);
  ++node.size;
  ReplaceKey(node, static_cast<int>(slot), entry);
}

void RemoveKeys(Node& node, std::uint32_t slot, std::uint32_t count) {
  ShiftDown(node.heads, slot, count, node.size);
  ShiftDown(node.keys, slot, count, node.size);
  node.size -= count;
}

void AppendKeys(const Node& from, std::uint32_t slot, Node& to) {
  std::copy(from.keys.begin() + slot, from.keys.begin() + from.size, to.keys.begin() + to.size);
  to.size += from.size - slot;
  SetHeads(to);
}

}  // namespace

std::size_t CommonPrefix(std::string_view a, std::string_view b) {
  const std::size_t limit = std::min(a.size(), b.size());
  std::size_t length = 0;
  for (; length + 8 <= limit; length += 8) {
    std::uint64_t x = 0;
    std::uint64_t y = 0;
    std::memcpy(&x, a.data() + length, 8);
    std::memcpy(&y, b.data() + length, 8);
    if (x != y) break;
  }
  while (length < limit && a[length] == b[length]) ++length;
  return length;
}

Position Search(const Node& node, std::string_view key) {
  if (node.size == 0) return {0, false};
  const HeadRange range = FindHead(node, HeadOf(key, node.prefix));
  // The prefix is read from the key that is compared next anyway.
  return SearchRange(node, key, range, std::min(range.begin, node.size - 1));
}

const Entry* Find(const Leaf& leaf, std::string_view key) {
  if (leaf.size == 0 || key.size() < leaf.prefix) return nullptr;
  const HeadRange range = FindHead(leaf, HeadOf(key, leaf.prefix));
  if (range.begin == range.end) return nullptr;
  if (range.begin + 1 == range.end) {
    const Entry* entry = leaf.keys[range.begin];
    return entry->key() == key ? entry : nullptr;
  }
  const Position position = Search(leaf, key);
  return position.equal ? &leaf.entry(position.slot) : nullptr;
}

int FindChild(const Inner& inner, std::string_view key) {
  // The prefix is read from the first key: that one entry per node stays in the cache.
  const HeadRange range = FindHead(inner, HeadOf(key, inner.prefix));
  const Position position = SearchRange(inner, key, range, 0);
  return position.equal || position.slot == 0 ? position.slot : position.slot - 1;
}

int ChildSlot(const Inner& inner, std::string_view key) {
  const int slot = FindChild(inner, key);
  PrefetchSearch(*inner.child(slot).node);
  return slot;
}

void PrefetchSearch(const Node& node) {
  constexpr std::size_t kLineBytes = 64;
  const char* begin = reinterpret_cast<const char*>(&node);
  for (std::size_t at = 0; at < offsetof(Node, keys); at += kLineBytes) {
    __builtin_prefetch(begin + at);
  }
}

int FirstLook(const Node& node, std::string_view key) {
  const std::uint32_t begin = FindHead(node, HeadOf(key, node.prefix)).begin;
  return static_cast<int>(std::min(begin, node.size - 1));
}

void SetHeads(Node& node) {
  const std::size_t prefix =
      node.size == 0 ? 0 : CommonPrefix(node.key(0), node.key(node.count() - 1));
  SetHeads(node, prefix);
}

void ReplaceKey(Node& node, int slot, Entry* entry) {
  const std::string_view key = entry->key();
  node.keys[static_cast<std::size_t>(slot)] = entry;
  if (node.size == 1) {
    SetHeads(node, key.size());
    return;
  }
  const std::size_t common = CommonPrefix(node.key(slot == 0 ? 1 : 0).substr(0, node.prefix), key);
  if (common < node.prefix) {
    SetHeads(node, common);
  } else {
    node.heads[static_cast<std::size_t>(slot)] = HeadOf(key, node.prefix);
  }
}

void InsertEntry(Leaf& leaf, int slot, Entry* entry) {
  InsertKey(leaf, static_cast<std::uint32_t>(slot), entry);
}

void InsertChild(Inner& inner, int slot, Inner::Child child) {
  ShiftUp(inner.children, static_cast<std::uint32_t>(slot), inner.size);
  inner.child(slot) = child;
  InsertKey(inner, static_cast<std::uint32_t>(slot), child.node->keys[0]);
}

void RemoveSlots(Leaf& leaf, int slot, int count) {
  RemoveKeys(leaf, static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(count));
}

void RemoveSlots(Inner& inner, int slot, int count) {
  ShiftDown(inner.children, static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(count),
            inner.size);
  RemoveKeys(inner, static_cast<std::uint32_t>(slot), static_cast<std::uint32_t>(count));
}

void AppendTail(const Leaf& from, int slot, Leaf& to) {
  AppendKeys(from, static_cast<std::uint32_t>(slot), to);
}

void AppendTail(const Inner& from, int slot, Inner& to) {
  std::copy(from.children.begin() + slot, from.children.begin() + from.size,
            to.children.begin() + to.size);
  AppendKeys(from, static_cast<std::uint32_t>(slot), to);
}

void Truncate(Node& node, int slot) {
  node.size = static_cast<std::uint32_t>(slot);
  SetHeads(node);
}

Summary Summarize(const Entry& entry) {
  return {.live = entry.tombstone() ? 0 : 1,
          .newest = entry.main(),
          .oldest = RevisionAt(entry, 0).revision.main,
          .lowest_compaction = LowestCompaction(entry)};
}

Summary Summarize(const Leaf& leaf) {
  Summary summary;
  for (int slot = 0; slot < leaf.count(); ++slot) summary.Add(Summarize(leaf.entry(slot)));
  return summary;
}

Summary Summarize(const Inner& inner) {
  Summary summary;
  for (int slot = 0; slot < inner.count(); ++slot) summary.Add(inner.child(slot).summary);
  return summary;
}

}  // namespace kvorum::mvcc::index
