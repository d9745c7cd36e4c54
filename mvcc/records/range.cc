#include "mvcc/records/range.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace kvorum::mvcc {
namespace {

// More than a string keeps inline.
constexpr std::size_t kFirstRowBlockBytes = 64;
constexpr std::size_t kRowBlockBytes = std::size_t{1} << 20;

}  // namespace

char* Row::EncodeTo(char* out) const {
  if (encoded.empty()) return mvcc::EncodeTo(Fields(), out);
  std::memcpy(out, encoded.data(), encoded.size());
  return out + encoded.size();
}

Result<void> RowBuffer::Add(const Row& row) {
  const std::size_t size = row.EncodedSize();
  if (size > block_.capacity() - block_.size() || rows_.empty()) {
    const std::size_t next = std::clamp(2 * block_.capacity(), kFirstRowBlockBytes, kRowBlockBytes);
    if (!block_.empty()) full_blocks_.push_back(std::move(block_));
    block_ = {};
    block_.reserve(rows_.empty() ? std::max(size, kFirstRowBlockBytes) : std::max(size, next));
  }
  const std::size_t begin = block_.size();
  block_.resize(begin + size);
  row.EncodeTo(block_.data() + begin);
  rows_.push_back(std::string_view(block_).substr(begin));
  return {};
}

}  // namespace kvorum::mvcc
