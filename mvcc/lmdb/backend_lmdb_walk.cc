#include "mvcc/lmdb/backend_lmdb_walk.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace kvorum::mvcc {

using lmdb_pages::Load;
using lmdb_pages::PageHeader;
using lmdb_pages::TreeInfo;

// ---- LmdbPages ----

Result<void> LmdbPages::Open() {
  struct stat status;
  if (::fstat(fd_, &status) != 0) return Bad(fmt::format("fstat: {}", ErrnoText(errno)));
  if (!S_ISREG(status.st_mode)) return Bad("it is not a regular file");
  size_bytes_ = static_cast<std::uint64_t>(status.st_size);
  return {};
}

Result<void> LmdbPages::Read(std::uint64_t offset, char* out, std::size_t size_bytes) const {
  const ssize_t got = ::pread(fd_, out, size_bytes, static_cast<off_t>(offset));
  if (got < 0) return Bad(fmt::format("read at {}: {}", offset, ErrnoText(errno)));
  if (static_cast<std::size_t>(got) != size_bytes) {
    return Bad(fmt::format("the file is truncated ({} bytes)", size_bytes_));
  }
  return {};
}

Result<void> LmdbPages::ReadPage(std::uint64_t page, std::vector<char>& out) const {
  out.resize(page_size_bytes_);
  return Read(page * page_size_bytes_, out.data(), out.size());
}

std::unexpected<Error> LmdbPages::Bad(std::string_view why) const {
  return Fail(Code::kDataLoss, fmt::format("mvcc: cannot use {} as the database: {}", path_, why));
}

std::unexpected<Error> LmdbPages::Truncated() const {
  return Bad(fmt::format(
      "the file is truncated ({} bytes, its header tells of {}); restore it from a snapshot or let "
      "the member be rebuilt from its peers",
      size_bytes_, (last_page_ + 1) * page_size_bytes_));
}

// ---- LmdbTreeWalk ----

Result<void> LmdbTreeWalk::Run(const TreeInfo& info) {
  if (info.root != lmdb_pages::kNoPage) {
    if (info.depth == 0 || info.depth > lmdb_pages::kMaxDepth)
      return Damaged(info.root, "has an impossible depth");
    KV_RETURN_IF_ERROR(WalkPage(info.root, info.depth, {}));
    found_.depth = info.depth;
  }
  if (found_.depth != info.depth || found_.branch_pages != info.branch_pages ||
      found_.leaf_pages != info.leaf_pages || found_.overflow_pages != info.overflow_pages ||
      found_.entries != info.entries) {
    return file_.Bad(fmt::format(
        "its header counts {} entries on {} pages in the {}, which has {} on {}", info.entries,
        info.branch_pages + info.leaf_pages + info.overflow_pages, shape_.name, found_.entries,
        found_.branch_pages + found_.leaf_pages + found_.overflow_pages));
  }
  return {};
}

Result<void> LmdbTreeWalk::WalkPage(std::uint64_t page, unsigned depth, const Bounds& bounds) {
  KV_RETURN_IF_ERROR(Claim(page, 1));
  std::vector<char> bytes;
  KV_RETURN_IF_ERROR(file_.ReadPage(page, bytes));
  const bool is_branch = depth > 1;
  KV_TRY(const std::vector<Node> nodes, ReadNodes(page, bytes, is_branch));
  KV_RETURN_IF_ERROR(CheckKeys(page, nodes, is_branch, bounds));
  if (!is_branch) return VisitLeaf(page, nodes);
  ++found_.branch_pages;
  for (std::size_t i = 0; i < nodes.size(); ++i)
    KV_RETURN_IF_ERROR(WalkChild(nodes, i, depth - 1, bounds));
  return {};
}

Result<void> LmdbTreeWalk::WalkChild(const std::vector<Node>& nodes, std::size_t i, unsigned depth,
                                     const Bounds& bounds) {
  Bounds own = bounds;
  if (i > 0) own.low = nodes[i].key;
  if (i + 1 < nodes.size()) own.high = nodes[i + 1].key;
  return WalkPage(nodes[i].child, depth, own);
}

Result<void> LmdbTreeWalk::VisitLeaf(std::uint64_t page, const std::vector<Node>& nodes) {
  ++found_.leaf_pages;
  for (const Node& node : nodes) {
    ++found_.entries;
    if (node.is_big) {
      const auto first = Load<std::uint64_t>(node.data.data());
      if (first < lmdb_pages::kFirstPage || first > file_.last_page())
        return Damaged(page, "names a page that cannot be");
      KV_RETURN_IF_ERROR(VisitBigRecord(first, node.data_bytes));
    } else if (on_data_) {
      KV_RETURN_IF_ERROR(on_data_(node.data));
    }
  }
  return {};
}

Result<void> LmdbTreeWalk::VisitBigRecord(std::uint64_t page, std::uint64_t data_bytes) {
  if (page >= file_.pages()) return file_.Truncated();
  std::array<char, sizeof(PageHeader)> head;
  KV_RETURN_IF_ERROR(file_.Read(page * file_.page_size_bytes(), head.data(), head.size()));
  const auto header = Load<PageHeader>(head.data());
  // A shorter value that replaced a longer one may leave pages over.
  const std::uint64_t needed = (sizeof(PageHeader) - 1 + data_bytes) / file_.page_size_bytes() + 1;
  if (header.number != page || header.flags != lmdb_pages::kOverflowFlag ||
      header.OverflowPages() < needed)
    return Damaged(page, "is not the record's that it should be");
  KV_RETURN_IF_ERROR(Claim(page, header.OverflowPages()));
  found_.overflow_pages += header.OverflowPages();
  if (!on_data_) return {};
  std::vector<char> data(data_bytes);
  KV_RETURN_IF_ERROR(
      file_.Read(page * file_.page_size_bytes() + sizeof(PageHeader), data.data(), data.size()));
  return on_data_({data.data(), data.size()});
}

Result<std::vector<LmdbTreeWalk::Node>> LmdbTreeWalk::ReadNodes(std::uint64_t page,
                                                                const std::vector<char>& bytes,
                                                                bool is_branch) const {
  const auto header = Load<PageHeader>(bytes.data());
  if (header.number != page ||
      header.flags != (is_branch ? lmdb_pages::kBranchFlag : lmdb_pages::kLeafFlag))
    return Damaged(page, "has another page's header");
  if (header.lower < sizeof(PageHeader) || header.lower % 2 != 0 || header.upper < header.lower ||
      header.upper > bytes.size())
    return Damaged(page, "has a header with impossible offsets");
  const std::size_t count = (header.lower - sizeof(PageHeader)) / 2;
  if (count < (is_branch ? shape_.least_branch_nodes : 1))
    return Damaged(page, "has too few nodes");
  std::vector<Node> nodes;
  nodes.reserve(count);
  for (std::size_t i = 0; i < count; ++i) {
    const auto offset = Load<std::uint16_t>(bytes.data() + sizeof(PageHeader) + 2 * i);
    KV_TRY(const Node node, ReadNode(page, bytes, offset, is_branch));
    nodes.push_back(node);
  }
  // They fill the page's end without a gap.
  std::vector<std::pair<std::uint64_t, std::uint64_t>> extents;
  extents.reserve(count);
  for (const Node& node : nodes) extents.emplace_back(node.offset, node.size_bytes);
  std::ranges::sort(extents);
  std::uint64_t end = header.upper;
  for (const auto& [offset, size_bytes] : extents) {
    if (offset != end) return Damaged(page, "has nodes that overlap, or a gap between two");
    end += size_bytes;
  }
  if (end != bytes.size()) return Damaged(page, "has a gap behind its nodes");
  return nodes;
}

Result<LmdbTreeWalk::Node> LmdbTreeWalk::ReadNode(std::uint64_t page,
                                                  const std::vector<char>& bytes,
                                                  std::uint64_t offset, bool is_branch) const {
  using lmdb_pages::kNodeHeaderBytes;
  if (offset + kNodeHeaderBytes > bytes.size()) return Damaged(page, "has a node outside of it");
  const char* const at = bytes.data() + offset;
  const std::uint64_t low = Load<std::uint32_t>(at);
  const auto high = Load<std::uint16_t>(at + 4);
  const auto key_bytes = Load<std::uint16_t>(at + 6);
  Node node{.offset = offset,
            .size_bytes = 0,
            .key = {},
            .child = low | std::uint64_t{high} << 32,
            .data = {},
            .data_bytes = low,
            .is_big = false};
  std::uint64_t stored = 0;
  if (!is_branch) {
    if ((high & ~lmdb_pages::kBigDataFlag) != 0) return Damaged(page, "has a node of another kind");
    node.is_big = high != 0;
    stored = node.is_big ? sizeof(std::uint64_t) : low;
  }
  node.size_bytes = kNodeHeaderBytes + key_bytes + stored;
  node.size_bytes += node.size_bytes % 2;
  if (node.size_bytes > bytes.size() - offset) return Damaged(page, "has a node that ends outside");
  node.key = {at + kNodeHeaderBytes, key_bytes};
  if (!is_branch) node.data = {at + kNodeHeaderBytes + key_bytes, stored};
  return node;
}

Result<void> LmdbTreeWalk::CheckKeys(std::uint64_t page, const std::vector<Node>& nodes,
                                     bool is_branch, const Bounds& bounds) const {
  std::optional<std::string_view> previous;
  for (std::size_t i = is_branch ? 1 : 0; i < nodes.size(); ++i) {
    const std::string_view key = nodes[i].key;
    const bool has_size =
        shape_.keys == Keys::kIntegers ? key.size() == sizeof(std::uint64_t) : !key.empty();
    if (!has_size || (previous.has_value() && !Ascend(*previous, key)))
      return Damaged(page, "has keys that do not ascend");
    if ((bounds.low.has_value() && Ascend(key, *bounds.low)) ||
        (bounds.high.has_value() && !Ascend(key, *bounds.high)))
      return Damaged(page, "has keys that belong elsewhere");
    previous = key;
  }
  return {};
}

bool LmdbTreeWalk::Ascend(std::string_view a, std::string_view b) const {
  if (shape_.keys == Keys::kBytes) return a < b;
  return Load<std::uint64_t>(a.data()) < Load<std::uint64_t>(b.data());
}

Result<void> LmdbTreeWalk::Claim(std::uint64_t page, std::uint64_t count) {
  if (page < lmdb_pages::kFirstPage || page > file_.last_page() ||
      count > file_.last_page() - page + 1)
    return Damaged(page, "cannot be");
  if (page + count > file_.pages()) return file_.Truncated();
  for (std::uint64_t i = page; i < page + count; ++i) {
    if (used_[i]) return Damaged(i, "is used twice");
    used_[i] = true;
  }
  return {};
}

std::unexpected<Error> LmdbTreeWalk::Damaged(std::uint64_t page, std::string_view what) const {
  return file_.Bad(fmt::format("page {} of its {} {}", page, shape_.name, what));
}

}  // namespace kvorum::mvcc
