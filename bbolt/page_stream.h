// Gives pages their ids, one after another, and keeps their bytes until they are taken.
//
// Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "bbolt/format.h"

namespace kvorum::bbolt {

class PageStream {
 public:
  // A stream that keeps no bytes only counts.
  PageStream(std::uint32_t page_size, bool keeps_bytes)
      : page_size_(page_size), keeps_bytes_(keeps_bytes) {}

  std::uint32_t page_size() const { return page_size_; }
  bool keeps_bytes() const { return keeps_bytes_; }
  PageId page_count() const { return next_id_; }

  // The bytes of the pages that so much content takes.
  std::uint64_t WholePages(std::uint64_t content_bytes) const {
    return (content_bytes + page_size_ - 1) & ~std::uint64_t{page_size_ - 1};  // a power of two
  }

  // Begins a page of content_bytes, header included, with as much overflow as that takes. Exactly
  // the rest of the content is appended (only if the stream keeps bytes), then the page ended.
  PageId Begin(std::uint16_t flags, std::size_t count, std::uint64_t content_bytes) {
    const PageId id = next_id_;
    const std::uint64_t pages = WholePages(content_bytes) / page_size_;
    next_id_ += pages;
    padding_bytes_ = WholePages(content_bytes) - content_bytes;
    if (keeps_bytes_)
      AppendHeader(bytes_, {.id = id,
                            .flags = flags,
                            .count = static_cast<std::uint16_t>(count),
                            .overflow = static_cast<std::uint32_t>(pages - 1)});
    return id;
  }
  void Append(std::string_view bytes) { bytes_.append(bytes); }
  void End() {
    if (keeps_bytes_) bytes_.append(padding_bytes_, '\0');
  }
  // Pages that are complete in themselves.
  void AppendPages(std::string_view pages) {
    next_id_ += pages.size() / page_size_;
    if (keeps_bytes_) bytes_.append(pages);
  }

  std::size_t ready_bytes() const { return bytes_.size(); }
  // Takes the bytes that make whole units.
  std::string Take(std::size_t unit_bytes) {
    std::string rest = bytes_.substr(bytes_.size() - (bytes_.size() % unit_bytes));
    std::string taken = std::exchange(bytes_, {});
    taken.resize(taken.size() - rest.size());
    // The next one is about as long, and a leaf longer at times.
    bytes_.reserve(taken.size() + (taken.size() / 4));
    bytes_ += rest;
    return taken;
  }

 private:
  const std::uint32_t page_size_;
  const bool keeps_bytes_;
  std::string bytes_;
  PageId next_id_ = 0;
  std::uint64_t padding_bytes_ = 0;
};

}  // namespace kvorum::bbolt
