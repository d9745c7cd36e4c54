// The invariants that mvcc/index/key_index.h lists, checked one by one.
#include "base/check.h"
#include "mvcc/index/index_tree.h"

namespace kvorum::mvcc::index {
namespace {

void CheckEntry(const Entry& entry) {
  const std::uint32_t count = RevisionCount(entry);
  KV_CHECK(entry.form() <= Entry::kWithPast, "an entry of unknown form");
  KV_CHECK(entry.form() != Entry::kWithPast || count > 1, "an entry has an empty past");
  KV_CHECK(entry.form() != Entry::kContinued || !entry.tombstone(),
           "a tombstone that stands alone has an origin");
  if (entry.form() == Entry::kWithPast) {
    KV_CHECK(entry.past().length <= entry.past().history->capacity, "a past longer than its block");
  }
  EntryRevision before = RevisionAt(entry, 0);
  for (std::uint32_t number = 1; number < count; ++number) {
    const EntryRevision at = RevisionAt(entry, number);
    KV_CHECK(before.revision < at.revision, "a key's revisions do not ascend");
    KV_CHECK(!before.tombstone || !at.tombstone, "a tombstone follows a tombstone");
    if (!before.tombstone && !at.tombstone) {
      const Entry::Origin a = OriginOf(entry, number - 1);
      const Entry::Origin b = OriginOf(entry, number);
      KV_CHECK(a.created == b.created && a.version + 1 == b.version,
               "two puts of one generation do not follow each other");
    } else if (!at.tombstone) {
      const Entry::Origin origin = OriginOf(entry, number);
      KV_CHECK(origin.created == at.revision.main && origin.version == 1,
               "a generation does not begin with its first put");
    }
    before = at;
  }
  if (!entry.tombstone()) {
    KV_CHECK(entry.created() <= entry.main() && entry.version() >= 1,
             "a key is created after it is modified");
  }
}

void CheckNode(const Node& node) {
  KV_CHECK(node.count() > 0, "a node is empty");
  KV_CHECK(node.count() <= kFanOut, "a node holds more keys than it has room for");
  for (int slot = 0; slot < node.count(); ++slot) {
    KV_CHECK(slot == 0 || node.key(slot - 1) < node.key(slot), "keys do not ascend in a node");
    KV_CHECK(CommonPrefix(node.key(0), node.key(slot)) >= node.prefix,
             "a key does not begin as its node says");
    KV_CHECK(node.heads[static_cast<std::size_t>(slot)] == HeadOf(node.key(slot), node.prefix),
             "the head in a slot is not that of its key");
  }
}

// Keys of the subtree must come after `before`, which becomes its last.
Summary CheckSubtree(const Node& node, int level, const Entry*& before) {
  CheckNode(node);
  if (level == 0) {
    KV_CHECK(before == nullptr || before->key() < node.key(0), "keys do not ascend across leaves");
    for (int slot = 0; slot < node.count(); ++slot) CheckEntry(AsLeaf(node).entry(slot));
    before = node.keys[node.size - 1];
    return Summarize(AsLeaf(node));
  }
  const Inner& inner = AsInner(node);
  for (int slot = 0; slot < inner.count(); ++slot) {
    const Inner::Child& child = inner.child(slot);
    KV_CHECK(child.node->birth <= inner.birth, "a node is younger than its parent");
    KV_CHECK(child.node->keys[0] == inner.keys[static_cast<std::size_t>(slot)],
             "a slot does not carry its child's first key");
    KV_CHECK(CheckSubtree(*child.node, level - 1, before) == child.summary,
             "a slot's summary is not that of its child");
  }
  return Summarize(inner);
}

}  // namespace

void Tree::CheckInvariants() const {
  KV_CHECK((root_ == nullptr) == (height_ == 0), "a tree without a root has a height");
  Summary summary;
  const Entry* before = nullptr;
  if (root_ != nullptr) summary = CheckSubtree(*root_, height_ - 1, before);
  KV_CHECK(summary == summary_, "the summary of the tree is not that of its root");
  KV_CHECK(summary.newest <= newest_.main, "an entry is newer than the newest change");
}

}  // namespace kvorum::mvcc::index
