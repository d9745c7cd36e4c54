// Walks a tree of an LMDB file without LMDB, which trusts every number in its pages: a damaged one
// hides records from LMDB, or ends the process. Used by one thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "mvcc/lmdb/backend_lmdb_pages.h"

namespace kvorum::mvcc {

// An open file's pages. Errors are kDataLoss and name the file.
class LmdbPages {
 public:
  // The path is for the errors' texts and outlives this.
  LmdbPages(int fd, const std::string& path) : fd_(fd), path_(path) {}

  // Takes the file's size; kDataLoss if it is not a regular file.
  Result<void> Open();
  void SetLayout(std::uint64_t page_size_bytes, std::uint64_t last_page) {
    page_size_bytes_ = page_size_bytes;
    last_page_ = last_page;
  }

  std::uint64_t size_bytes() const { return size_bytes_; }
  std::uint64_t page_size_bytes() const { return page_size_bytes_; }
  std::uint64_t last_page() const { return last_page_; }  // by the header
  // Pages that are there. A sound file may end before its last page, but only within free pages: a
  // transaction that takes pages at the end and frees them again does not write them.
  std::uint64_t pages() const { return size_bytes_ / page_size_bytes_; }

  Result<void> Read(std::uint64_t offset, char* out, std::size_t size_bytes) const;
  Result<void> ReadPage(std::uint64_t page, std::vector<char>& out) const;

  std::unexpected<Error> Bad(std::string_view why) const;
  std::unexpected<Error> Truncated() const;

 private:
  const int fd_;
  const std::string& path_;
  std::uint64_t size_bytes_ = 0;
  std::uint64_t page_size_bytes_ = 0;
  std::uint64_t last_page_ = 0;
};

// One walk over one tree. An error means damage, and names the page where it lies.
class LmdbTreeWalk {
 public:
  enum class Keys : std::uint8_t { kBytes, kIntegers };
  struct Shape {
    std::string_view name;  // for the errors' texts
    Keys keys;
    // LMDB ends the process when it meets a branch with fewer nodes.
    std::size_t least_branch_nodes;
  };
  static constexpr Shape kRecords{"tree of records", Keys::kBytes, 2};
  static constexpr Shape kFreeList{"free list", Keys::kIntegers, 1};

  // Receives the whole data of each record.
  using OnData = std::function<Result<void>(std::string_view data)>;

  // Sets the bit of each page that it meets; a bit that is set already is damage. Without `on_data`
  // the records' overflow pages are not read but for their headers.
  LmdbTreeWalk(const LmdbPages& file, const Shape& shape, std::vector<bool>& used,
               OnData on_data = {})
      : file_(file), shape_(shape), used_(used), on_data_(std::move(on_data)) {}

  // Compares the tree with what `info` tells of it.
  Result<void> Run(const lmdb_pages::TreeInfo& info);

 private:
  // The keys of a page lie in [low, high); no value: without a bound.
  struct Bounds {
    std::optional<std::string_view> low;
    std::optional<std::string_view> high;
  };
  struct Node {
    std::uint64_t offset;
    std::uint64_t size_bytes;
    std::string_view key;
    std::uint64_t child;       // a branch's
    std::string_view data;     // a leaf's; that of a big record is the number of its page
    std::uint64_t data_bytes;  // of a leaf's record
    bool is_big;
  };

  Result<void> WalkPage(std::uint64_t page, unsigned depth, const Bounds& bounds);
  Result<void> WalkChild(const std::vector<Node>& nodes, std::size_t i, unsigned depth,
                         const Bounds& bounds);
  Result<void> VisitLeaf(std::uint64_t page, const std::vector<Node>& nodes);
  Result<void> VisitBigRecord(std::uint64_t page, std::uint64_t data_bytes);
  // Checks everything in a page but the keys' order.
  Result<std::vector<Node>> ReadNodes(std::uint64_t page, const std::vector<char>& bytes,
                                      bool is_branch) const;
  Result<Node> ReadNode(std::uint64_t page, const std::vector<char>& bytes, std::uint64_t offset,
                        bool is_branch) const;
  Result<void> CheckKeys(std::uint64_t page, const std::vector<Node>& nodes, bool is_branch,
                         const Bounds& bounds) const;
  bool Ascend(std::string_view a, std::string_view b) const;
  Result<void> Claim(std::uint64_t page, std::uint64_t count);
  std::unexpected<Error> Damaged(std::uint64_t page, std::string_view what) const;

  const LmdbPages& file_;
  const Shape shape_;
  std::vector<bool>& used_;
  const OnData on_data_;
  lmdb_pages::TreeInfo found_{};
};

}  // namespace kvorum::mvcc
