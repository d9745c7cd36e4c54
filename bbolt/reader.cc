#include "bbolt/reader.h"

#include "base/crc32c.h"
#include "bbolt/check_pages.h"
#include "bbolt/damage.h"

namespace kvorum::bbolt {

Result<std::unique_ptr<Reader>> Reader::Open(FileSystem& files, const std::string& path,
                                             ReaderOptions options) {
  KV_TRY(std::unique_ptr<File> file, files.Open(path, FileSystem::OpenMode::kRead));
  return Open(std::move(file), options);
}

Result<std::unique_ptr<Reader>> Reader::Open(std::unique_ptr<File> file, ReaderOptions options) {
  KV_TRY(PageFile pages, PageFile::Open(std::move(file), options.max_leaf_bytes));
  return std::unique_ptr<Reader>(new Reader(std::move(pages)));
}

Result<std::optional<Bucket>> Reader::FindBucket(const Bucket& parent, std::string_view name) {
  Cursor cursor(file_, parent);
  KV_TRY(const bool found, cursor.Seek(name));
  if (!found || cursor.key() != name) return std::nullopt;
  if (!cursor.is_bucket())
    return Fail(Code::kDataLoss, "bbolt: " + std::string(name) + " is a key, not a bucket");
  KV_TRY(Bucket bucket, cursor.bucket());
  return bucket;
}

Result<std::optional<std::string>> Reader::Get(const Bucket& bucket, std::string_view key) {
  Cursor cursor(file_, bucket);
  KV_TRY(const bool found, cursor.Seek(key));
  if (!found || cursor.key() != key || cursor.is_bucket()) return std::nullopt;
  return std::string(cursor.value());
}

std::unique_ptr<PageCheck> Reader::NewCheck() { return std::make_unique<PageCheck>(file_); }

Result<void> Reader::Check(const std::function<void(std::uint64_t)>& on_bytes) {
  PageCheck check(file_);
  while (true) {
    KV_TRY(const bool done, check.Step());
    if (on_bytes) on_bytes(check.checked_bytes());
    if (done) return {};
  }
}

Result<void> Reader::Visit(const Visitor& visitor) {
  Cursor names = NewCursor(root());
  KV_TRY(bool more, names.First());
  while (more) {
    if (!names.is_bucket())
      return Fail(Code::kDataLoss, "bbolt: the root bucket holds a key that is not a bucket");
    KV_RETURN_IF_ERROR(visitor.bucket(names.key()));
    KV_TRY(const Bucket bucket, names.bucket());
    Cursor records = NewCursor(bucket);
    KV_TRY(bool more_records, records.First());
    while (more_records) {
      if (records.is_bucket() && visitor.nested) {
        KV_RETURN_IF_ERROR(visitor.nested(records.key()));
      } else {
        KV_RETURN_IF_ERROR(visitor.record(
            records.key(), records.is_bucket() ? std::string_view() : records.value()));
      }
      KV_TRY(more_records, records.Next());
    }
    KV_TRY(more, names.Next());
  }
  return {};
}

Result<std::uint32_t> ContentHash(Reader& reader) {
  std::uint32_t crc = 0;
  KV_RETURN_IF_ERROR(reader.Visit({.bucket =
                                       [&](std::string_view name) {
                                         crc = Crc32c(crc, name);
                                         return Result<void>();
                                       },
                                   .record =
                                       [&](std::string_view key, std::string_view value) {
                                         crc = Crc32c(Crc32c(crc, key), value);
                                         return Result<void>();
                                       }}));
  return crc;
}

}  // namespace kvorum::bbolt
