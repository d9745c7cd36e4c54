// Images of bbolt files in memory, and their content as plain maps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/error.h"
#include "base/file_system.h"
#include "base/rng.h"
#include "bbolt/reader.h"
#include "bbolt/writer.h"

namespace kvorum::bbolt {

using Records = std::map<std::string, std::string>;
using Content = std::map<std::string, Records>;

// A file that can only be read.
class ImageFile final : public File {
 public:
  explicit ImageFile(std::string bytes) : bytes_(std::move(bytes)) {}
  const std::string& path() const override { return path_; }
  Result<std::size_t> ReadAt(std::uint64_t offset, char* out, std::size_t size_bytes) override {
    if (offset >= bytes_.size()) return 0;
    const std::size_t size = std::min<std::uint64_t>(size_bytes, bytes_.size() - offset);
    std::memcpy(out, bytes_.data() + offset, size);
    return size;
  }
  Result<void> WriteAt(std::uint64_t, std::span<const std::string_view>) override {
    return Refuse();
  }
  Result<void> Sync() override { return Refuse(); }
  Result<void> Truncate(std::uint64_t) override { return Refuse(); }
  Result<void> Allocate(std::uint64_t) override { return Refuse(); }
  Result<std::uint64_t> Size() override { return bytes_.size(); }

 private:
  static Result<void> Refuse() { return Fail(Code::kUnimplemented, "an image is only read"); }

  const std::string path_ = "image";
  const std::string bytes_;
};

inline Result<std::unique_ptr<Reader>> OpenImage(std::string bytes, ReaderOptions options = {}) {
  return Reader::Open(std::make_unique<ImageFile>(std::move(bytes)), options);
}

inline Result<void> PutAll(Writer& writer, const Content& content) {
  for (const auto& [name, records] : content) {
    KV_RETURN_IF_ERROR(writer.BeginBucket(name));
    for (const auto& [key, value] : records) KV_RETURN_IF_ERROR(writer.Put(key, value));
  }
  return {};
}

inline Result<Plan> PlanOf(const Content& content, std::uint32_t page_size) {
  Writer writer = Writer::Sizing(page_size);
  for (const auto& [name, records] : content) {
    KV_RETURN_IF_ERROR(writer.BeginBucket(name));
    for (const auto& [key, value] : records) KV_RETURN_IF_ERROR(writer.PutSize(key, value.size()));
  }
  return writer.Finish();
}

inline Result<std::string> ImageOf(const Content& content, std::uint32_t page_size = 4096) {
  KV_TRY(const Plan plan, PlanOf(content, page_size));
  Writer writer = Writer::Writing(plan);
  KV_RETURN_IF_ERROR(PutAll(writer, content));
  KV_RETURN_IF_ERROR(writer.Finish());
  return writer.Take();
}

inline Result<Content> ContentOf(Reader& reader) {
  Content content;
  Records* records = nullptr;
  KV_RETURN_IF_ERROR(reader.Visit({.bucket =
                                       [&](std::string_view name) {
                                         records = &content[std::string(name)];
                                         return Result<void>();
                                       },
                                   .record =
                                       [&](std::string_view key, std::string_view value) {
                                         records->emplace(key, value);
                                         return Result<void>();
                                       }}));
  return content;
}

inline Result<Content> ContentOf(const std::string& image) {
  KV_TRY(const std::unique_ptr<Reader> reader, OpenImage(image));
  KV_RETURN_IF_ERROR(reader->Check());
  return ContentOf(*reader);
}

inline std::string RandomBytes(Rng& rng, std::size_t size) {
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(rng());
  return bytes;
}

// Some buckets, empty ones among them, with keys and values of mixed sizes.
inline Content RandomContent(Rng& rng, std::size_t max_records, std::size_t max_key_bytes,
                             std::size_t max_value_bytes) {
  Content content;
  const std::size_t buckets = rng.Below(6);
  for (std::size_t i = 0; i < buckets; ++i) {
    Records& records = content[RandomBytes(rng, 1 + rng.Below(20))];
    const std::size_t count = rng.OneIn(3) ? rng.Below(4) : rng.Below(max_records + 1);
    for (std::size_t j = 0; j < count; ++j) {
      const std::size_t key_bytes = 1 + rng.Below(rng.OneIn(20) ? max_key_bytes : 12);
      const std::size_t value_bytes = rng.Below(1 + (rng.OneIn(20) ? max_value_bytes : 60));
      records[RandomBytes(rng, key_bytes)] = RandomBytes(rng, value_bytes);
    }
  }
  return content;
}

}  // namespace kvorum::bbolt
