// Any bytes as the pages of a bbolt file. Reading must end in records or an error; a file that
// passes the check is readable, its keys in order.
//
// The first byte of the input: bit 0, the rest is the whole file, metas included; else pages of
// 1 KiB from the third on, and metas that fit are put in front. Bit 1: each page gets its own id.
// The second byte: the root; the third: the freelist's page, or none if it is not among the pages.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "bbolt/meta.h"
#include "bbolt/reader.h"
#include "tests/bbolt/image.h"

namespace {

using namespace kvorum;
using namespace kvorum::bbolt;

constexpr std::uint32_t kPage = 1024;

void Require(bool condition) {
  if (!condition) std::abort();
}

std::string FileOf(const std::uint8_t* data, std::size_t size) {
  const std::string rest(reinterpret_cast<const char*>(data) + 3, size - 3);
  if ((data[0] & 1) != 0) return rest;
  const PageId pages = 2 + ((rest.size() + kPage - 1) / kPage);
  std::string file = EncodeMetaPage({.page_size = kPage,
                                     .root = data[1],
                                     .sequence = 0,
                                     .freelist = data[2] < pages ? data[2] : kNoFreelist,
                                     .high_water = pages,
                                     .txid = 0});
  file.append(kPage, '\0');
  file += rest;
  file.resize(pages * kPage);
  if ((data[0] & 2) != 0)
    for (PageId id = 2; id < pages; ++id)
      file.replace(id * kPage, sizeof(id), reinterpret_cast<const char*>(&id), sizeof(id));
  return file;
}

// Nested buckets may share pages in a file that was not checked: so only a few levels of them.
bool Walk(Reader& reader, const Bucket& bucket, int levels) {
  Cursor cursor = reader.NewCursor(bucket);
  std::string last;
  bool first = true;
  Result<bool> more = cursor.First();
  for (; more.has_value() && *more; more = cursor.Next()) {
    const std::string key(cursor.key());
    Require(first || last < key);
    first = false;
    last = key;
    if (cursor.is_bucket()) {
      const Result<Bucket> nested = cursor.bucket();
      if (!nested.has_value() || (levels > 0 && !Walk(reader, *nested, levels - 1))) return false;
    }
  }
  if (!more.has_value()) return false;
  Cursor seeking = reader.NewCursor(bucket);
  const Result<bool> found = seeking.Seek(last);
  Require(found.has_value() && *found == !first && (first || seeking.key() == last));
  return true;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 3) return 0;
  const auto reader = OpenImage(FileOf(data, size), {.max_leaf_bytes = 1 << 20});
  if (!reader.has_value()) return 0;
  const bool whole = (*reader)->Check().has_value();
  const bool readable = Walk(**reader, (*reader)->root(), 2);
  Require(!whole || readable);
  (void)ContentHash(**reader);
  return 0;
}
