// Reads a bbolt file's pages one at a time through base's File, so simulated disks work too. If the
// disk fails or the file shrinks meanwhile, an error is returned; a mapping would raise a signal.
// The price is a copy from the page cache (docs/decisions/0033).
//
// Used by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"
#include "bbolt/format.h"
#include "bbolt/meta.h"
#include "bbolt/tree_page.h"

namespace kvorum::bbolt {

// Memory that pages are read into; it grows and is used again.
class PageBuffer {
 public:
  // Keeps the first kept_bytes of what it holds.
  void Grow(std::size_t size_bytes, std::size_t kept_bytes);
  char* data() { return bytes_.get(); }
  std::string_view First(std::size_t size_bytes) const { return {bytes_.get(), size_bytes}; }

 private:
  std::unique_ptr<char[]> bytes_;  // NOLINT(modernize-avoid-c-arrays): uninitialised on purpose
  std::size_t capacity_bytes_ = 0;
};

class PageFile {
 public:
  // Reads the metas: the newer valid one counts. kDataLoss if both are damaged or the file is
  // shorter than its meta says. `max_leaf_bytes` bounds the memory that one page may ask for.
  static Result<PageFile> Open(std::unique_ptr<File> file, std::uint64_t max_leaf_bytes);

  const Meta& meta() const { return meta_; }

  // A branch or leaf page, its bytes in `buffer`. `overflow` gets the number of pages behind it.
  Result<TreePage> ReadTreePage(PageId id, PageBuffer& buffer, std::uint32_t& overflow);
  // Some kind of page's header. kDataLoss if it has another id, or more overflow than the file.
  Result<PageHeader> ReadHeader(PageId id);
  // Exactly `size_bytes` at an offset within a page.
  Result<void> ReadBytes(PageId page, std::uint64_t offset_in_page, char* out,
                         std::size_t size_bytes);

 private:
  PageFile(std::unique_ptr<File> file, const Meta& meta, std::uint64_t max_leaf_bytes)
      : file_(std::move(file)), meta_(meta), max_leaf_bytes_(max_leaf_bytes) {}
  Result<void> CheckHeader(PageId id, const PageHeader& header) const;

  std::unique_ptr<File> file_;
  Meta meta_;
  std::uint64_t max_leaf_bytes_;
};

}  // namespace kvorum::bbolt
