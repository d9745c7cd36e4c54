// Reads a bbolt file: the database of an etcd member, or a snapshot of one. A file that is damaged,
// or made to do harm, is kDataLoss with the number of the page, never a crash, an endless walk or
// memory without bound. bbolt's pages carry no checksum: a flipped bit within a value is not seen.
//
// Used by one thread at a time. Nothing may write to the file meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/file_system.h"
#include "bbolt/cursor.h"
#include "bbolt/meta.h"
#include "bbolt/page_file.h"

namespace kvorum::bbolt {

class PageCheck;

struct ReaderOptions {
  // A page with its overflow, which a large value needs, may take as much memory.
  std::uint64_t max_leaf_bytes = std::uint64_t{1} << 30;
};

class Reader {
 public:
  static Result<std::unique_ptr<Reader>> Open(FileSystem& files, const std::string& path,
                                              ReaderOptions options = {});
  static Result<std::unique_ptr<Reader>> Open(std::unique_ptr<File> file,
                                              ReaderOptions options = {});

  const Meta& meta() const { return file_.meta(); }
  // The part of the file that is the database, which may be followed by more.
  std::uint64_t SizeBytes() const { return meta().high_water * meta().page_size; }

  // The bucket that holds the others.
  Bucket root() const {
    return {.root = meta().root, .sequence = meta().sequence, .inline_page = {}};
  }
  // kDataLoss if the name stands for a key.
  Result<std::optional<Bucket>> FindBucket(const Bucket& parent, std::string_view name);
  Result<std::optional<Bucket>> FindBucket(std::string_view name) {
    return FindBucket(root(), name);
  }
  // The value of a key that is not a bucket.
  Result<std::optional<std::string>> Get(const Bucket& bucket, std::string_view key);
  // The reader outlives its cursors.
  Cursor NewCursor(const Bucket& bucket) { return {file_, bucket}; }

  // Reads the whole file: each page is reachable exactly once, or free; nothing is damaged. Memory:
  // two bits for each page. `on_bytes`, if not empty, gets the bytes that were checked so far.
  Result<void> Check(const std::function<void(std::uint64_t checked_bytes)>& on_bytes = {});
  // The same in steps. The reader outlives it.
  std::unique_ptr<PageCheck> NewCheck();

  // Visits the content in the order in which etcd hashes it: each bucket of the root, then its keys
  // and values. A nested bucket is a key without a value, unless the visitor tells them apart. A
  // visitor's error ends it.
  struct Visitor {
    std::function<Result<void>(std::string_view name)> bucket;
    std::function<Result<void>(std::string_view key, std::string_view value)> record;
    std::function<Result<void>(std::string_view key)> nested = {};  // may be empty
  };
  Result<void> Visit(const Visitor& visitor);

 private:
  explicit Reader(PageFile file) : file_(std::move(file)) {}

  PageFile file_;
};

// CRC-32C over the names of all buckets, keys and values in order: the `hash` that `etcdutl
// snapshot status` prints.
Result<std::uint32_t> ContentHash(Reader& reader);

}  // namespace kvorum::bbolt
