// Makes a bbolt file in one pass over its content: buckets in the order of their names, in each the
// keys in order. Page after page leaves in the order of the file, so that the image can be streamed
// to where nothing can be written twice.
//
// The file begins with its metas, which name the last page and the size. A stream therefore takes
// two passes over the same content: a sizing one, which makes the same pages and counts them, then
// the writing one. A file, in which the first two pages can be overwritten, needs one.
//
//   Writer sizing = Writer::Sizing(page_size);     BeginBucket, PutSize ..., Finish -> plan
//   Writer writer = Writer::Writing(plan);         the same with Put, and Take() whenever there is
//   enough
//
// A pure class: it waits for nothing and reads no clock; equal content gives equal bytes. Memory: a
// leaf of 256 KiB at most, a page or two of each level of two trees, what Take has not taken, and
// no value longer than that. Every page that bbolt does not need stays out: the freelist is empty,
// pages are full, a small bucket is inline. bbolt can continue in the file as if it had written it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "bbolt/format.h"

namespace kvorum::bbolt {

// The numbers of a file that its first pages tell.
struct Plan {
  std::uint32_t page_size = 4096;
  PageId root = 0;
  PageId page_count = 0;

  std::uint64_t SizeBytes() const { return page_count * page_size; }
  friend bool operator==(const Plan&, const Plan&) = default;
};

class ImageTrees;

// Used by one thread at a time. Errors: kInvalidArgument for a key out of order, empty or too long;
// kInternal from Finish if the content is not the planned one. Any error is final.
class Writer {
 public:
  // Counts pages; Take has nothing to give.
  static Writer Sizing(std::uint32_t page_size = 4096);
  static Writer Writing(const Plan& plan);
  // The first two pages come out as zeros, with which no reader takes the file for one; when all
  // the rest is written and synced, MetaPages goes over them.
  static Writer WritingWithoutPlan(std::uint32_t page_size = 4096);

  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;
  ~Writer();

  // Ends the bucket before it. A bucket may stay empty.
  Result<void> BeginBucket(std::string_view name);
  // The views are not needed after the call.
  Result<void> Put(std::string_view key, std::string_view value);
  // The same for a writer that sizes, to which the bytes of a value do not matter.
  Result<void> PutSize(std::string_view key, std::uint64_t value_bytes);
  // Nothing may be put after it.
  Result<Plan> Finish();

  // The bytes that are ready: whole pages, at most the last record put, a leaf and a few pages more
  // than the caller let wait. It stops at the end of the file.
  std::size_t ReadyBytes() const;
  // Leaves what makes no whole unit for the next time.
  std::string Take(std::size_t unit_bytes = 1);

 private:
  explicit Writer(std::unique_ptr<ImageTrees> trees);

  std::unique_ptr<ImageTrees> trees_;
};

// The bytes of the first two pages.
std::string MetaPages(const Plan& plan);

}  // namespace kvorum::bbolt
