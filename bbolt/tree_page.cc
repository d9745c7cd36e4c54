#include "bbolt/tree_page.h"

#include <algorithm>
#include <ranges>
#include <string>

#include "bbolt/damage.h"

namespace kvorum::bbolt {
namespace {

struct Element {
  std::uint32_t flags = 0;
  std::uint32_t offset = 0;
  std::uint32_t key_bytes = 0;
  std::uint32_t value_bytes = 0;
};

Element LoadElement(std::string_view bytes, std::size_t at, bool is_leaf) {
  if (!is_leaf)
    return {.flags = 0,
            .offset = Load<std::uint32_t>(bytes, at),
            .key_bytes = Load<std::uint32_t>(bytes, at + 4),
            .value_bytes = 0};
  return {.flags = Load<std::uint32_t>(bytes, at),
          .offset = Load<std::uint32_t>(bytes, at + 4),
          .key_bytes = Load<std::uint32_t>(bytes, at + 8),
          .value_bytes = Load<std::uint32_t>(bytes, at + 12)};
}

}  // namespace

std::uint64_t TreePage::ContentBytes(std::string_view bytes) {
  const PageHeader header = LoadHeader(bytes);
  std::uint64_t size = ElementAt(header.count);
  for (std::size_t i = 0; i < header.count; ++i) {
    const Element element = LoadElement(bytes, ElementAt(i), header.flags == kLeafFlag);
    size += std::uint64_t{element.key_bytes} + element.value_bytes;
  }
  return size;
}

Result<TreePage> TreePage::Parse(PageId id, std::string_view bytes, PageId high_water) {
  if (bytes.size() < kHeaderBytes) return Damage(id, "cut off");
  TreePage page;
  page.header_ = LoadHeader(bytes);
  page.bytes_ = bytes;
  if (page.header_.id != id)
    return Damage(id, "says that it is page " + std::to_string(page.header_.id));
  if (page.header_.flags != kBranchFlag && page.header_.flags != kLeafFlag)
    return Damage(id, "neither branch nor leaf, flags " + std::to_string(page.header_.flags));
  const std::size_t count = page.count();
  if (ElementAt(count) > bytes.size())
    return Damage(id, std::to_string(count) + " elements do not fit into it");

  std::uint64_t data_at = ElementAt(count);
  std::string_view previous;
  for (std::size_t i = 0; i < count; ++i) {
    const Element element = LoadElement(bytes, ElementAt(i), page.is_leaf());
    const auto fault = [&](std::string_view what) {
      return Damage(id, "element " + std::to_string(i) + ": " + std::string(what));
    };
    if (ElementAt(i) + element.offset != data_at) return fault("wrong offset");
    if (element.key_bytes > kMaxKeyBytes) return fault("key too long");
    data_at += std::uint64_t{element.key_bytes} + element.value_bytes;
    if (data_at > bytes.size()) return fault("goes past the end of the page");
    if (element.flags > kBucketElementFlag) return fault("unknown flags");
    const std::string_view key = page.key(i);
    if (i > 0 && key <= previous) return fault("key out of order");
    previous = key;
    if (!page.is_leaf() && (page.child(i) < 2 || page.child(i) >= high_water))
      return fault("page " + std::to_string(page.child(i)) + " out of bounds");
  }
  return page;
}

std::string_view TreePage::key(std::size_t i) const {
  const Element element = LoadElement(bytes_, ElementAt(i), is_leaf());
  return bytes_.substr(ElementAt(i) + element.offset, element.key_bytes);
}

std::string_view TreePage::value(std::size_t i) const {
  const Element element = LoadElement(bytes_, ElementAt(i), true);
  return bytes_.substr(ElementAt(i) + element.offset + element.key_bytes, element.value_bytes);
}

std::size_t TreePage::LowerBound(std::string_view key) const {
  const auto indexes = std::views::iota(std::size_t{0}, count());
  const auto it =
      std::ranges::lower_bound(indexes, key, {}, [this](std::size_t i) { return this->key(i); });
  return static_cast<std::size_t>(it - indexes.begin());
}

}  // namespace kvorum::bbolt
