#include "bbolt/page_file.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <utility>

#include "bbolt/damage.h"

namespace kvorum::bbolt {
namespace {

// bbolt splits a branch that is longer than a page while it has more than four keys.
constexpr std::uint64_t kMaxBranchBytes =
    kMaxPageSize + 5 * (kElementBytes + kMaxKeyBytes) + kHeaderBytes;
// The most pages of a file that is read: 4 TiB of the usual size. A check holds a bit for each.
constexpr std::uint64_t kMaxPages = std::uint64_t{1} << 30;

Result<Meta> ReadMeta(File& file, PageId id, std::uint64_t offset) {
  std::array<char, kHeaderBytes + kMetaBytes> bytes{};
  KV_TRY(const std::size_t size, file.ReadAt(offset, bytes.data(), bytes.size()));
  return DecodeMetaPage(id, {bytes.data(), size});
}

// The second meta lies one page into the file, and only a meta knows the size of a page.
Result<Meta> FindSecondMeta(File& file) {
  for (std::uint64_t size = kMinPageSize; size <= kMaxPageSize; size *= 2) {
    Result<Meta> meta = ReadMeta(file, 1, size);
    if (meta.has_value() && meta->page_size == size) return meta;
    if (!meta.has_value() && meta.error().code != Code::kDataLoss) return meta;
  }
  return Damage(1, "no valid meta page at any page size");
}

}  // namespace

void PageBuffer::Grow(std::size_t size_bytes, std::size_t kept_bytes) {
  if (size_bytes <= capacity_bytes_) return;
  auto larger = std::make_unique_for_overwrite<char[]>(size_bytes);  // NOLINT: as above
  if (kept_bytes > 0) std::memcpy(larger.get(), bytes_.get(), kept_bytes);
  bytes_ = std::move(larger);
  capacity_bytes_ = size_bytes;
}

Result<PageFile> PageFile::Open(std::unique_ptr<File> file, std::uint64_t max_leaf_bytes) {
  Result<Meta> first = ReadMeta(*file, 0, 0);
  if (!first.has_value() && first.error().code != Code::kDataLoss) return Fail(first.error());
  Result<Meta> second =
      first.has_value() ? ReadMeta(*file, 1, first->page_size) : FindSecondMeta(*file);
  if (!second.has_value() && second.error().code != Code::kDataLoss) return Fail(second.error());
  if (!first.has_value() && !second.has_value())
    return Fail(Code::kDataLoss, first.error().message + "; " + second.error().message);
  const bool second_counts =
      !first.has_value() ||
      (second.has_value() && second->page_size == first->page_size && second->txid > first->txid);
  const Meta& meta = second_counts ? *second : *first;
  const PageId id = second_counts ? 1 : 0;
  KV_TRY(const std::uint64_t size_bytes, file->Size());
  if (meta.high_water > kMaxPages)
    return Damage(id, std::to_string(meta.high_water) + " pages are too many");
  if (meta.high_water * meta.page_size > size_bytes)
    return Damage(id, "the file should have " + std::to_string(meta.high_water * meta.page_size) +
                          " bytes, but has " + std::to_string(size_bytes));
  return PageFile(std::move(file), meta, max_leaf_bytes);
}

Result<void> PageFile::CheckHeader(PageId id, const PageHeader& header) const {
  if (header.id != id) return Damage(id, "says that it is page " + std::to_string(header.id));
  if (header.overflow >= meta_.high_water - id)
    return Damage(id, "its overflow goes past the last page");
  return {};
}

Result<void> PageFile::ReadBytes(PageId page, std::uint64_t offset_in_page, char* out,
                                 std::size_t size_bytes) {
  KV_TRY(const std::size_t size,
         file_->ReadAt((page * meta_.page_size) + offset_in_page, out, size_bytes));
  if (size != size_bytes) return Damage(page, "cut off");
  return {};
}

Result<PageHeader> PageFile::ReadHeader(PageId id) {
  if (id >= meta_.high_water) return Damage(id, "out of bounds");
  std::array<char, kHeaderBytes> bytes{};
  KV_RETURN_IF_ERROR(ReadBytes(id, 0, bytes.data(), bytes.size()));
  const PageHeader header = LoadHeader({bytes.data(), bytes.size()});
  KV_RETURN_IF_ERROR(CheckHeader(id, header));
  return header;
}

Result<TreePage> PageFile::ReadTreePage(PageId id, PageBuffer& buffer, std::uint32_t& overflow) {
  if (id >= meta_.high_water) return Damage(id, "out of bounds");
  std::size_t have = meta_.page_size;
  buffer.Grow(have, 0);
  KV_RETURN_IF_ERROR(ReadBytes(id, 0, buffer.data(), have));
  const PageHeader header = LoadHeader(buffer.First(have));
  KV_RETURN_IF_ERROR(CheckHeader(id, header));
  overflow = header.overflow;
  if (header.overflow == 0) return TreePage::Parse(id, buffer.First(have), meta_.high_water);

  // No more is read than the elements claim, since a whole run of overflow may be gigabytes.
  const std::uint64_t all = (std::uint64_t{header.overflow} + 1) * meta_.page_size;
  const auto read_up_to = [&](std::uint64_t size) -> Result<void> {
    if (size <= have) return {};
    buffer.Grow(size, have);
    KV_RETURN_IF_ERROR(ReadBytes(id, have, buffer.data() + have, size - have));
    have = size;
    return {};
  };
  const std::uint64_t elements = kHeaderBytes + (header.count * kElementBytes);
  if (elements > all) return Damage(id, "its elements do not fit into it");
  KV_RETURN_IF_ERROR(read_up_to(elements));
  const std::uint64_t content = TreePage::ContentBytes(buffer.First(have));
  if (content > all) return Damage(id, "its content does not fit into it");
  // bbolt has always allocated what the content takes, and once a page more if it ends with one.
  if (header.overflow > content / meta_.page_size)
    return Damage(id, "its content is shorter than its overflow");
  if (content > (header.flags == kLeafFlag ? max_leaf_bytes_ : kMaxBranchBytes))
    return Damage(id, "too large: " + std::to_string(content) + " bytes");
  KV_RETURN_IF_ERROR(read_up_to(content));
  return TreePage::Parse(id, buffer.First(have), meta_.high_water);
}

}  // namespace kvorum::bbolt
