// Walks a bucket's keys in order.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "bbolt/format.h"
#include "bbolt/page_file.h"
#include "bbolt/tree_page.h"

namespace kvorum::bbolt {

// A bucket's place in the file.
struct Bucket {
  PageId root = 0;  // 0: inline
  std::uint64_t sequence = 0;
  std::string inline_page;  // empty unless inline

  // From the bucket's element. `page` is the one that holds it.
  static Result<Bucket> Decode(PageId page, std::string_view value);
};

// Used by one thread at a time; the file outlives it. Holds one page of each level: the branches'
// sizes are bounded by the format, the leaf's by PageFile's limit.
//
// Everything that it meets is checked before it is used: each page as a whole, and its keys against
// those of the branch above it, so that no key is visited twice and no walk is endless. Faults are
// kDataLoss and name the page. A cursor that has returned an error, or false, stands nowhere.
class Cursor {
 public:
  Cursor(PageFile& file, Bucket bucket) : file_(file), bucket_(std::move(bucket)) {}

  // To the bucket's first key; false if it has none.
  Result<bool> First();
  // To the first key that is not less.
  Result<bool> Seek(std::string_view key);
  // To the next key; only from a key.
  Result<bool> Next();

  // Valid until the cursor moves, and only while it stands at a key.
  std::string_view key() const { return leaf().key(index_); }
  std::string_view value() const { return leaf().value(index_); }
  bool is_bucket() const { return leaf().is_bucket(index_); }
  // The nested bucket that stands here; its value() is not user data.
  Result<Bucket> bucket() const;

  // Called for each page that is read, when it has been checked as a whole.
  using OnPage = std::function<Result<void>(PageId id, std::uint32_t overflow)>;
  void set_on_page(OnPage on_page) { on_page_ = std::move(on_page); }

 private:
  struct Level {
    PageId id = 0;
    PageBuffer buffer;
    TreePage page;
    std::size_t index = 0;  // of the child that we are in
    // All keys are below it, unless it is the last page of its level.
    bool bounded = false;
    std::string_view bound;  // within a level above
  };

  const TreePage& leaf() const { return levels_[depth_ - 1].page; }
  Result<void> EnterRoot();
  // Reads the child at the lowest level's index.
  Result<void> EnterChild();
  Result<TreePage> ReadPage(PageId id, PageBuffer& buffer);
  // From the lowest level down to the first key of its child at `index`.
  Result<bool> DescendToFirst();
  Result<bool> NextLeaf();

  PageFile& file_;
  const Bucket bucket_;
  OnPage on_page_;
  std::vector<Level> levels_;  // the first depth_ are in use, from the root
  std::size_t depth_ = 0;
  std::size_t leaf_depth_ = 0;  // of all leaves, once one was reached
  std::size_t index_ = 0;       // in the leaf
};

}  // namespace kvorum::bbolt
