#include "bbolt/check_pages.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bbolt/cursor.h"
#include "bbolt/damage.h"

namespace kvorum::bbolt {
namespace {

class PageCheck {
 public:
  explicit PageCheck(PageFile& file)
      : file_(file), reached_(file.meta().high_water), free_(file.meta().high_water) {}

  Result<void> Run() {
    KV_RETURN_IF_ERROR(Reach(0, 0));
    KV_RETURN_IF_ERROR(Reach(1, 0));
    const bool has_freelist = file_.meta().freelist != kNoFreelist;
    if (has_freelist) KV_RETURN_IF_ERROR(ReadFreelist(file_.meta().freelist));

    // The roots of buckets whose walk is to come. Each is a page of its own, reached already.
    KV_RETURN_IF_ERROR(AddBucket(file_.meta().root));
    while (!roots_.empty()) {
      const PageId root = roots_.back();
      roots_.pop_back();
      KV_RETURN_IF_ERROR(WalkBucket(root));
    }
    if (!has_freelist) return {};
    for (PageId id = 0; id < reached_.size(); ++id)
      if (!reached_[id] && !free_[id]) return Damage(id, "neither reachable nor free");
    return {};
  }

 private:
  Result<void> Reach(PageId id, std::uint32_t overflow) {
    for (PageId page = id; page <= id + overflow; ++page) {
      if (reached_[page]) return Damage(page, "reachable more than once");
      if (free_[page]) return Damage(page, "reachable, but in the freelist");
      reached_[page] = true;
    }
    return {};
  }

  Result<void> ReadFreelist(PageId id) {
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
  Result<PageId> ReadId(PageId page, std::uint64_t offset) {
    std::string bytes(sizeof(PageId), '\0');
    KV_RETURN_IF_ERROR(file_.ReadBytes(page, offset, bytes.data(), bytes.size()));
    return Load<PageId>(bytes, 0);
  }
  Result<void> AddFree(PageId freelist, PageId id) {
    if (id < 2 || id >= free_.size())
      return Damage(freelist, "free page " + std::to_string(id) + " out of bounds");
    if (free_[id]) return Damage(freelist, "page " + std::to_string(id) + " is free twice");
    free_[id] = true;
    return {};
  }

  // Reached here, and not when the walk comes to it, so that no root is noted twice.
  Result<void> AddBucket(PageId root) {
    KV_TRY(const PageHeader header, file_.ReadHeader(root));
    KV_RETURN_IF_ERROR(Reach(root, header.overflow));
    roots_.push_back(root);
    return {};
  }

  Result<void> WalkBucket(PageId root) {
    Cursor cursor(file_, {.root = root, .sequence = 0, .inline_page = {}});
    bool at_root = true;
    cursor.set_on_page([&](PageId id, std::uint32_t overflow) {
      return std::exchange(at_root, false) ? Result<void>() : Reach(id, overflow);
    });
    KV_TRY(bool more, cursor.First());
    while (more) {
      if (cursor.is_bucket()) {
        KV_TRY(const Bucket bucket, cursor.bucket());
        if (bucket.root != 0) KV_RETURN_IF_ERROR(AddBucket(bucket.root));
      }
      KV_TRY(more, cursor.Next());
    }
    return {};
  }

  static constexpr std::size_t kIdsAtOnce = 8192;

  PageFile& file_;
  std::vector<bool> reached_;
  std::vector<bool> free_;
  std::vector<PageId> roots_;
};

}  // namespace

Result<void> CheckPages(PageFile& file) { return PageCheck(file).Run(); }

}  // namespace kvorum::bbolt
