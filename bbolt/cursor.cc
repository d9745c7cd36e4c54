#include "bbolt/cursor.h"

#include <utility>

#include "bbolt/damage.h"

namespace kvorum::bbolt {
namespace {

// Far more levels than 2^30 pages can have, unless branches have but one child.
constexpr std::size_t kMaxDepth = 64;

}  // namespace

Result<Bucket> Bucket::Decode(PageId page, std::string_view value) {
  if (value.size() < kBucketBytes) return Damage(page, "bucket cut off");
  Bucket bucket{.root = Load<PageId>(value, 0),
                .sequence = Load<std::uint64_t>(value, 8),
                .inline_page = std::string(value.substr(kBucketBytes))};
  if (bucket.root != 0) {
    if (!bucket.inline_page.empty()) return Damage(page, "bucket too long");
    return bucket;
  }
  const Result<TreePage> tree = TreePage::Parse(0, bucket.inline_page, 0);
  if (!tree.has_value()) return Damage(page, "inline bucket: " + tree.error().message);
  if (!tree->is_leaf()) return Damage(page, "inline bucket with a branch");
  if (TreePage::ContentBytes(bucket.inline_page) != bucket.inline_page.size())
    return Damage(page, "inline bucket too long");
  for (std::size_t i = 0; i < tree->count(); ++i)
    if (tree->is_bucket(i)) return Damage(page, "inline bucket with a bucket in it");
  return bucket;
}

Result<Bucket> Cursor::bucket() const { return Bucket::Decode(levels_[depth_ - 1].id, value()); }

Result<bool> Cursor::First() {
  KV_RETURN_IF_ERROR(EnterRoot());
  return DescendToFirst();
}

Result<bool> Cursor::Seek(std::string_view key) {
  KV_RETURN_IF_ERROR(EnterRoot());
  while (!leaf().is_leaf()) {
    Level& level = levels_[depth_ - 1];
    level.index = level.page.LowerBound(key);
    const bool found = level.index < level.page.count() && level.page.key(level.index) == key;
    if (!found && level.index > 0) --level.index;
    KV_RETURN_IF_ERROR(EnterChild());
  }
  index_ = leaf().LowerBound(key);
  if (index_ < leaf().count()) return true;
  return NextLeaf();
}

Result<bool> Cursor::Next() {
  if (++index_ < leaf().count()) return true;
  return NextLeaf();
}

Result<bool> Cursor::NextLeaf() {
  while (--depth_ > 0) {
    Level& level = levels_[depth_ - 1];
    if (++level.index < level.page.count()) return DescendToFirst();
  }
  return false;
}

Result<bool> Cursor::DescendToFirst() {
  while (!leaf().is_leaf()) KV_RETURN_IF_ERROR(EnterChild());
  index_ = 0;
  return leaf().count() > 0;
}

Result<TreePage> Cursor::ReadPage(PageId id, PageBuffer& buffer) {
  std::uint32_t overflow = 0;
  KV_TRY(const TreePage page, file_.ReadTreePage(id, buffer, overflow));
  if (on_page_) KV_RETURN_IF_ERROR(on_page_(id, overflow));
  return page;
}

Result<void> Cursor::EnterRoot() {
  if (levels_.empty()) levels_.emplace_back();
  Level& level = levels_[0];
  level.id = bucket_.root;
  level.index = 0;
  if (bucket_.root == 0) {
    KV_TRY(level.page, TreePage::Parse(0, bucket_.inline_page, 0));
  } else {
    KV_TRY(level.page, ReadPage(bucket_.root, level.buffer));
    if (!level.page.is_leaf() && level.page.count() == 0)
      return Damage(bucket_.root, "branch without children");
  }
  depth_ = 1;
  return {};
}

Result<void> Cursor::EnterChild() {
  if (depth_ == kMaxDepth) return Damage(levels_[depth_ - 1].id, "tree too deep");
  if (levels_.size() == depth_) levels_.emplace_back();
  const Level& parent = levels_[depth_ - 1];
  Level& level = levels_[depth_];
  level.id = parent.page.child(parent.index);
  level.index = 0;
  KV_TRY(level.page, ReadPage(level.id, level.buffer));
  if (level.page.count() == 0) return Damage(level.id, "empty");
  if (level.page.key(0) < parent.page.key(parent.index))
    return Damage(level.id, "its first key is less than its parent's");
  const bool last = parent.index + 1 == parent.page.count();
  level.bounded = parent.bounded || !last;
  level.bound = last ? parent.bound : parent.page.key(parent.index + 1);
  if (level.bounded && level.page.key(level.page.count() - 1) >= level.bound)
    return Damage(level.id, "its last key is not less than its neighbour's first");
  ++depth_;
  if (!level.page.is_leaf()) return {};
  // All leaves of a valid tree have the same depth.
  if (leaf_depth_ == 0) leaf_depth_ = depth_;
  return depth_ == leaf_depth_ ? Result<void>() : Damage(level.id, "a leaf at another depth");
}

}  // namespace kvorum::bbolt
