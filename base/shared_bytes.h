// An immutable, reference-counted slice of bytes: encoded once, then shared by the WAL record, the
// peers' streams, the apply thread and the answers.
//
// Thread-safe like shared_ptr: one object belongs to one thread, copies may go to others. A copy or
// a slice costs one atomic increment, Copy() one allocation.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvorum {

class SharedBytes {
 public:
  SharedBytes() = default;
  // Copies the bytes into one new block.
  static SharedBytes Copy(std::string_view bytes);
  // Takes the string over without copying its bytes.
  static SharedBytes Own(std::string&& bytes);
  // Allocates a block of size_bytes that the caller fills through *data before it shares the
  // result.
  static SharedBytes Allocate(std::size_t size_bytes, char** data);
  // Refers to bytes with static storage duration, without counting references.
  static SharedBytes Static(std::string_view bytes) {
    SharedBytes result;
    result.data_ = bytes.data();
    result.size_ = bytes.size();
    return result;
  }

  SharedBytes(const SharedBytes& other) noexcept
      : block_(other.block_), data_(other.data_), size_(other.size_) {
    if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
  }
  SharedBytes(SharedBytes&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)) {}
  SharedBytes& operator=(SharedBytes other) noexcept {
    std::swap(block_, other.block_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
  }
  ~SharedBytes() {
    if (block_ != nullptr) Release();
  }

  const char* data() const { return data_; }
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  std::string_view view() const { return {data_, size_}; }

  // A part of the same block. offset + size_bytes must lie within this slice.
  SharedBytes Slice(std::size_t offset, std::size_t size_bytes) const;

  friend bool operator==(const SharedBytes& a, const SharedBytes& b) {
    return a.view() == b.view();
  }

 private:
  struct Block {
    std::atomic<std::uint32_t> references{1};
    std::string owned;  // used by Own only; Allocate puts the bytes after the block's header
  };
  void Release() noexcept;

  Block* block_ = nullptr;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

// A message as a chain of slices, sent without joining them.
using ByteChain = std::vector<SharedBytes>;

std::size_t SizeBytes(const ByteChain& chain);
std::string Join(const ByteChain& chain);

}  // namespace kvorum
