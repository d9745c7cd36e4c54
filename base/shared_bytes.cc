#include "base/shared_bytes.h"

#include <cstring>
#include <new>

#include "base/check.h"

namespace kvorum {

SharedBytes SharedBytes::Allocate(std::size_t size_bytes, char** data) {
  void* memory = ::operator new(sizeof(Block) + size_bytes);
  SharedBytes result;
  result.block_ = new (memory) Block;
  *data = static_cast<char*>(memory) + sizeof(Block);
  result.data_ = *data;
  result.size_ = size_bytes;
  return result;
}

SharedBytes SharedBytes::Copy(std::string_view bytes) {
  if (bytes.empty()) return {};
  char* data = nullptr;
  SharedBytes result = Allocate(bytes.size(), &data);
  std::memcpy(data, bytes.data(), bytes.size());
  return result;
}

SharedBytes SharedBytes::Own(std::string&& bytes) {
  if (bytes.empty()) return {};
  SharedBytes result;
  result.block_ = new (::operator new(sizeof(Block))) Block;
  result.block_->owned = std::move(bytes);
  result.data_ = result.block_->owned.data();
  result.size_ = result.block_->owned.size();
  return result;
}

SharedBytes SharedBytes::Slice(std::size_t offset, std::size_t size_bytes) const {
  KV_CHECK(offset <= size_ && size_bytes <= size_ - offset, "slice outside of its bytes");
  SharedBytes result = *this;
  result.data_ += offset;
  result.size_ = size_bytes;
  return result;
}

void SharedBytes::Release() noexcept {
  if (block_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  block_->~Block();
  ::operator delete(block_);
}

std::size_t SizeBytes(const ByteChain& chain) {
  std::size_t total = 0;
  for (const SharedBytes& part : chain) total += part.size();
  return total;
}

std::string Join(const ByteChain& chain) {
  std::string joined;
  joined.reserve(SizeBytes(chain));
  for (const SharedBytes& part : chain) joined.append(part.view());
  return joined;
}

}  // namespace kvorum
