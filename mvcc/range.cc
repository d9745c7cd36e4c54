#include "mvcc/range.h"

#include <cstring>

namespace kvorum::mvcc {

char* Row::EncodeTo(char* out) const {
  if (encoded.empty()) return mvcc::EncodeTo(Fields(), out);
  std::memcpy(out, encoded.data(), encoded.size());
  return out + encoded.size();
}

Result<void> RowBuffer::Add(const Row& row) {
  const std::size_t begin = bytes_.size();
  bytes_.resize(begin + row.EncodedSize());
  row.EncodeTo(bytes_.data() + begin);
  ends_.push_back(bytes_.size());
  return {};
}

void RowBuffer::Clear() {
  bytes_.clear();
  ends_.clear();
}

}  // namespace kvorum::mvcc
