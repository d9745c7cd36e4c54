// A branch or leaf page in memory, checked as a whole before any of it is used.
//
// Immutable, and so for any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/error.h"
#include "bbolt/format.h"

namespace kvorum::bbolt {

// A view of the page's bytes, which outlive it. Indexes are below count().
class TreePage {
 public:
  TreePage() = default;
  // `bytes` holds the elements and everything they claim; more may follow. kDataLoss names page
  // `id` and the fault: flags, counts, offsets, sizes, order of keys, children outside
  // [2, high_water).
  static Result<TreePage> Parse(PageId id, std::string_view bytes, PageId high_water);

  // The size of header, elements, keys and values as the elements claim it; `bytes` holds the
  // elements at least.
  static std::uint64_t ContentBytes(std::string_view bytes);

  bool is_leaf() const { return header_.flags == kLeafFlag; }
  std::size_t count() const { return header_.count; }
  std::string_view key(std::size_t i) const;
  PageId child(std::size_t i) const { return Load<PageId>(bytes_, ElementAt(i) + 8); }
  std::string_view value(std::size_t i) const;
  bool is_bucket(std::size_t i) const {
    return (Load<std::uint32_t>(bytes_, ElementAt(i)) & kBucketElementFlag) != 0;
  }
  // The first index whose key is not less; count() if there is none.
  std::size_t LowerBound(std::string_view key) const;

 private:
  static constexpr std::size_t ElementAt(std::size_t i) { return kHeaderBytes + i * kElementBytes; }

  PageHeader header_;
  std::string_view bytes_;
};

}  // namespace kvorum::bbolt
