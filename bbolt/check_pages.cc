#include "bbolt/check_pages.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "bbolt/damage.h"

namespace kvorum::bbolt {
namespace {

constexpr std::uint64_t kPagesAtOnce = 1024;
constexpr std::size_t kIdsAtOnce = 8192;

}  // namespace

Result<bool> PageCheck::Step() {
  if (!begun_) KV_RETURN_IF_ERROR(Begin());
  const std::uint64_t end = reached_pages_ + kPagesAtOnce;
  while (reached_pages_ < end) {
    if (cursor_.has_value()) {
      KV_RETURN_IF_ERROR(GoOn());
      continue;
    }
    if (roots_.empty()) return End();
    const PageId root = roots_.back();
    roots_.pop_back();
    KV_RETURN_IF_ERROR(BeginWalk(root));
  }
  return false;
}

Result<void> PageCheck::Begin() {
  begun_ = true;
  KV_RETURN_IF_ERROR(Reach(0, 0));
  KV_RETURN_IF_ERROR(Reach(1, 0));
  if (file_.meta().freelist != kNoFreelist) KV_RETURN_IF_ERROR(ReadFreelist(file_.meta().freelist));
  return AddBucket(file_.meta().root);
}

Result<bool> PageCheck::End() const {
  if (file_.meta().freelist == kNoFreelist) return true;
  for (PageId id = 0; id < reached_.size(); ++id)
    if (!reached_[id] && !free_[id]) return Damage(id, "neither reachable nor free");
  return true;
}

Result<void> PageCheck::Reach(PageId id, std::uint32_t overflow) {
  for (PageId page = id; page <= id + overflow; ++page) {
    if (reached_[page]) return Damage(page, "reachable more than once");
    if (free_[page]) return Damage(page, "reachable, but in the freelist");
    reached_[page] = true;
  }
  reached_pages_ += std::uint64_t{overflow} + 1;
  return {};
}

Result<void> PageCheck::ReadFreelist(PageId id) {
  KV_TRY(const PageHeader header, file_.ReadHeader(id));
  if (header.flags != kFreelistFlag) return Damage(id, "not a freelist");
  const std::uint64_t room_bytes =
      ((std::uint64_t{header.overflow} + 1) * file_.meta().page_size) - kHeaderBytes;
  std::uint64_t offset = kHeaderBytes;
  std::uint64_t count = header.count;
  if (header.count == kLargeFreelistCount) {
    KV_TRY(count, ReadId(id, offset));
    offset += sizeof(PageId);
    if (count > (room_bytes / sizeof(PageId)) - 1)
      return Damage(id, "the freelist's ids do not fit into it");
  } else if (count > room_bytes / sizeof(PageId)) {
    return Damage(id, "the freelist's ids do not fit into it");
  }

  std::string ids;
  while (count > 0) {
    const std::size_t part = std::min<std::uint64_t>(count, kIdsAtOnce);
    ids.resize(part * sizeof(PageId));
    KV_RETURN_IF_ERROR(file_.ReadBytes(id, offset, ids.data(), ids.size()));
    for (std::size_t at = 0; at < ids.size(); at += sizeof(PageId))
      KV_RETURN_IF_ERROR(AddFree(id, Load<PageId>(ids, at)));
    offset += ids.size();
    count -= part;
  }
  return Reach(id, header.overflow);
}

Result<PageId> PageCheck::ReadId(PageId page, std::uint64_t offset) {
  std::string bytes(sizeof(PageId), '\0');
  KV_RETURN_IF_ERROR(file_.ReadBytes(page, offset, bytes.data(), bytes.size()));
  return Load<PageId>(bytes, 0);
}

Result<void> PageCheck::AddFree(PageId freelist, PageId id) {
  if (id < 2 || id >= free_.size())
    return Damage(freelist, "free page " + std::to_string(id) + " out of bounds");
  if (free_[id]) return Damage(freelist, "page " + std::to_string(id) + " is free twice");
  free_[id] = true;
  return {};
}

Result<void> PageCheck::AddBucket(PageId root) {
  KV_TRY(const PageHeader header, file_.ReadHeader(root));
  KV_RETURN_IF_ERROR(Reach(root, header.overflow));
  roots_.push_back(root);
  return {};
}

Result<void> PageCheck::BeginWalk(PageId root) {
  cursor_.emplace(file_, Bucket{.root = root, .sequence = 0, .inline_page = {}});
  cursor_->set_on_page([this, at_root = true](PageId id, std::uint32_t overflow) mutable {
    return std::exchange(at_root, false) ? Result<void>() : Reach(id, overflow);
  });
  KV_TRY(const bool any, cursor_->First());
  if (!any) cursor_.reset();
  return {};
}

Result<void> PageCheck::GoOn() {
  if (cursor_->is_bucket()) {
    KV_TRY(const Bucket bucket, cursor_->bucket());
    if (bucket.root != 0) KV_RETURN_IF_ERROR(AddBucket(bucket.root));
  }
  KV_TRY(const bool more, cursor_->Next());
  if (!more) cursor_.reset();
  return {};
}

}  // namespace kvorum::bbolt
