#include "bbolt/tree_writer.h"

#include <iterator>
#include <utility>

#include "base/check.h"

namespace kvorum::bbolt {
namespace {

void AppendElement(std::string& out, std::uint32_t flags, std::uint64_t offset,
                   std::uint32_t key_bytes, std::uint32_t value_bytes) {
  Append(out, flags);
  Append(out, static_cast<std::uint32_t>(offset));
  Append(out, key_bytes);
  Append(out, value_bytes);
}

}  // namespace

Result<void> TreeWriter::PutSize(std::string_view key, std::uint64_t value_bytes) {
  KV_CHECK(!pages_.keeps_bytes(), "a size makes no page");
  return Put(0, key, value_bytes, {});
}

Result<void> TreeWriter::Put(std::uint32_t flags, std::string_view key, std::uint64_t value_bytes,
                             std::string_view value) {
  if (key.empty() || key.size() > kMaxKeyBytes)
    return Fail(Code::kInvalidArgument,
                "bbolt: a key of " + std::to_string(key.size()) + " bytes cannot be stored");
  if (value_bytes > kMaxValueBytes)
    return Fail(Code::kInvalidArgument,
                "bbolt: a value of " + std::to_string(value_bytes) + " bytes cannot be stored");
  if (key <= last_key_) return Fail(Code::kInvalidArgument, "bbolt: keys must ascend");
  last_key_.assign(key);

  const Element element{.flags = flags,
                        .key_bytes = static_cast<std::uint32_t>(key.size()),
                        .value_bytes = static_cast<std::uint32_t>(value_bytes)};
  const std::uint64_t size = kElementBytes + key.size() + value_bytes;
  if (!elements_.empty() && !LeafGainsFrom(size)) EndLeaf();
  if (leaf_bytes_ + size > kMaxSharedLeafBytes) {
    PutAlone(element, key, value);
    return {};
  }
  if (elements_.empty()) first_key_.assign(key);
  elements_.push_back(element);
  leaf_bytes_ += size;
  if (!pages_.keeps_bytes()) return {};
  data_.append(key);
  data_.append(value);
  return {};
}

bool TreeWriter::LeafGainsFrom(std::uint64_t size_bytes) const {
  const std::uint64_t apart = pages_.WholePages(leaf_bytes_);
  const std::uint64_t together = leaf_bytes_ + size_bytes;
  if (together <= apart) return true;
  return together <= kMaxSharedLeafBytes &&
         pages_.WholePages(together) < apart + pages_.WholePages(kHeaderBytes + size_bytes);
}

std::string TreeWriter::Elements() const {
  std::string out;
  std::uint64_t offset = elements_.size() * kElementBytes;
  for (const Element& element : elements_) {
    AppendElement(out, element.flags, offset, element.key_bytes, element.value_bytes);
    offset = offset - kElementBytes + element.key_bytes + element.value_bytes;
  }
  return out;
}

std::string TreeWriter::InlinePage() const {
  std::string page;
  AppendHeader(page, {.id = 0,
                      .flags = kLeafFlag,
                      .count = static_cast<std::uint16_t>(elements_.size()),
                      .overflow = 0});
  page += Elements();
  page += data_;
  page.resize(leaf_bytes_);  // of a stream that keeps no bytes, it has the size
  return page;
}

void TreeWriter::EndLeaf() {
  const PageId id = pages_.Begin(kLeafFlag, elements_.size(), leaf_bytes_);
  if (pages_.keeps_bytes()) {
    pages_.Append(Elements());
    pages_.Append(data_);
  }
  pages_.End();
  elements_.clear();
  data_.clear();
  leaf_bytes_ = kHeaderBytes;
  AddChild(0, first_key_, id);
}

void TreeWriter::PutAlone(const Element& element, std::string_view key, std::string_view value) {
  const PageId id =
      pages_.Begin(kLeafFlag, 1, kHeaderBytes + kElementBytes + key.size() + element.value_bytes);
  if (pages_.keeps_bytes()) {
    std::string head;
    AppendElement(head, element.flags, kElementBytes, element.key_bytes, element.value_bytes);
    pages_.Append(head);
    pages_.Append(key);
    pages_.Append(value);
  }
  pages_.End();
  AddChild(0, std::string(key), id);
}

void TreeWriter::AddChild(std::size_t level, std::string key, PageId id) {
  if (level == branches_.size()) branches_.emplace_back();
  const std::uint64_t size = kElementBytes + key.size();
  // One child always stays for the next page: bbolt wants no branch with a single one.
  if (Branch& branch = branches_[level];
      branch.children.size() >= 3 && branch.bytes + size > pages_.page_size()) {
    std::string first = branch.children.front().key;
    const PageId page = EndBranch(level, branch.children.size() - 1);
    AddChild(level + 1, std::move(first), page);
  }
  Branch& branch = branches_[level];  // the levels may have moved
  branch.children.push_back({.id = id, .key = std::move(key)});
  branch.bytes += size;
}

PageId TreeWriter::EndBranch(std::size_t level, std::size_t count) {
  Branch& branch = branches_[level];
  std::uint64_t content = kHeaderBytes;
  for (std::size_t i = 0; i < count; ++i) content += kElementBytes + branch.children[i].key.size();
  const PageId id = pages_.Begin(kBranchFlag, count, content);
  if (pages_.keeps_bytes()) {
    std::string head;
    std::uint64_t offset = count * kElementBytes;
    for (std::size_t i = 0; i < count; ++i) {
      const Child& child = branch.children[i];
      Append(head, static_cast<std::uint32_t>(offset));
      Append(head, static_cast<std::uint32_t>(child.key.size()));
      Append(head, child.id);
      offset = offset - kElementBytes + child.key.size();
    }
    pages_.Append(head);
    for (std::size_t i = 0; i < count; ++i) pages_.Append(branch.children[i].key);
  }
  pages_.End();
  branch.children.erase(branch.children.begin(),
                        std::next(branch.children.begin(), static_cast<std::ptrdiff_t>(count)));
  branch.bytes -= content - kHeaderBytes;
  return id;
}

PageId TreeWriter::Finish() {
  if (!elements_.empty() || branches_.empty()) EndLeaf();
  for (std::size_t level = 0;; ++level) {
    Branch& branch = branches_[level];
    const bool top = level + 1 == branches_.size();
    if (top && branch.children.size() == 1) return branch.children.front().id;
    std::string first = branch.children.front().key;
    const PageId id = EndBranch(level, branch.children.size());
    AddChild(level + 1, std::move(first), id);
  }
}

}  // namespace kvorum::bbolt
