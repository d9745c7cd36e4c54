// Builds one bucket's tree from the bottom, in one pass over its keys: a page leaves when it gains
// nothing from the next element, and its parent then gets to know its first key and its id. So a
// page comes after all of its children, the root last, and what waits is a page of each level.
//
// A leaf takes the next record while the two need fewer pages together than apart. So small records
// fill one page, and those which overflow it share what their last page has left: bbolt, with two
// keys in each leaf at least, would else need up to a third less.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "bbolt/format.h"
#include "bbolt/page_stream.h"

namespace kvorum::bbolt {

// Used by one thread at a time; the stream outlives it.
class TreeWriter {
 public:
  explicit TreeWriter(PageStream& pages) : pages_(pages) {}

  // `flags` is 0 or kBucketElementFlag. kInvalidArgument unless key and value are of a size that
  // bbolt takes, and the key comes after the last one.
  Result<void> Put(std::uint32_t flags, std::string_view key, std::string_view value) {
    return Put(flags, key, value.size(), value);
  }
  // For a stream that keeps no bytes: the value's size is enough.
  Result<void> PutSize(std::string_view key, std::uint64_t value_bytes);

  // True if the tree may stand within the bucket's element, by bbolt's own rule.
  bool CanBeInline() const { return branches_.empty() && leaf_bytes_ <= InlineLimit(); }
  std::string InlinePage() const;

  // The id of the root. Nothing may be put after it.
  PageId Finish();

 private:
  struct Element {
    std::uint32_t flags = 0;
    std::uint32_t key_bytes = 0;
    std::uint32_t value_bytes = 0;
  };
  struct Child {
    PageId id = 0;
    std::string key;
  };
  struct Branch {
    std::vector<Child> children;
    std::uint64_t bytes = kHeaderBytes;
  };

  // A leaf of several records waits in memory, and bbolt rewrites all of it: larger ones would save
  // no more than a page in that many.
  static constexpr std::uint64_t kMaxSharedLeafBytes = std::uint64_t{256} << 10;

  std::uint32_t InlineLimit() const { return pages_.page_size() / 4; }
  Result<void> Put(std::uint32_t flags, std::string_view key, std::uint64_t value_bytes,
                   std::string_view value);
  bool LeafGainsFrom(std::uint64_t size_bytes) const;
  std::string Elements() const;
  void EndLeaf();
  // The leaf of a record that is too large to share one: it goes to the stream without a copy.
  void PutAlone(const Element& element, std::string_view key, std::string_view value);
  void AddChild(std::size_t level, std::string key, PageId id);
  PageId EndBranch(std::size_t level, std::size_t count);

  PageStream& pages_;
  std::string last_key_;
  std::vector<Element> elements_;  // of the leaf that is being filled
  std::string data_;               // their keys and values
  std::string first_key_;
  std::uint64_t leaf_bytes_ = kHeaderBytes;
  std::vector<Branch> branches_;  // from the level above the leaves
};

}  // namespace kvorum::bbolt
