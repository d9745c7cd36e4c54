#include "bbolt/meta.h"

#include <bit>

#include "bbolt/damage.h"

namespace kvorum::bbolt {
namespace {

constexpr std::size_t kChecksumAt = kHeaderBytes + kMetaBytes - 8;

std::uint64_t Fnv1a(std::string_view bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const char byte : bytes) {
    hash ^= static_cast<unsigned char>(byte);
    hash *= 0x100000001b3;
  }
  return hash;
}

}  // namespace

std::string EncodeMetaPage(const Meta& meta) {
  std::string page;
  page.reserve(meta.page_size);
  AppendHeader(page, {.id = meta.txid % 2, .flags = kMetaFlag, .count = 0, .overflow = 0});
  Append(page, kMagic);
  Append(page, kFormatVersion);
  Append(page, meta.page_size);
  Append(page, std::uint32_t{0});
  Append(page, meta.root);
  Append(page, meta.sequence);
  Append(page, meta.freelist);
  Append(page, meta.high_water);
  Append(page, meta.txid);
  Append(page, Fnv1a(std::string_view(page).substr(kHeaderBytes)));
  page.resize(meta.page_size);
  return page;
}

Result<Meta> DecodeMetaPage(PageId id, std::string_view bytes) {
  if (bytes.size() < kHeaderBytes + kMetaBytes) return Damage(id, "cut off");
  const PageHeader header = LoadHeader(bytes);
  if (header.id != id || header.flags != kMetaFlag) return Damage(id, "not a meta page");
  if (Load<std::uint32_t>(bytes, 16) != kMagic) return Damage(id, "no database's magic number");
  if (const auto version = Load<std::uint32_t>(bytes, 20); version != kFormatVersion)
    return Damage(id, "unknown format version " + std::to_string(version));
  if (Load<std::uint64_t>(bytes, kChecksumAt) !=
      Fnv1a(bytes.substr(kHeaderBytes, kChecksumAt - kHeaderBytes)))
    return Damage(id, "wrong checksum");
  const Meta meta{.page_size = Load<std::uint32_t>(bytes, 24),
                  .root = Load<PageId>(bytes, 32),
                  .sequence = Load<std::uint64_t>(bytes, 40),
                  .freelist = Load<PageId>(bytes, 48),
                  .high_water = Load<PageId>(bytes, 56),
                  .txid = Load<std::uint64_t>(bytes, 64)};
  if (!std::has_single_bit(meta.page_size) || meta.page_size < kMinPageSize ||
      meta.page_size > kMaxPageSize)
    return Damage(id, "page size of " + std::to_string(meta.page_size) + " bytes");
  if (meta.root < 2 || meta.root >= meta.high_water)
    return Damage(id, "root page " + std::to_string(meta.root) + " out of bounds");
  if (meta.freelist != kNoFreelist && (meta.freelist < 2 || meta.freelist >= meta.high_water))
    return Damage(id, "freelist page " + std::to_string(meta.freelist) + " out of bounds");
  return meta;
}

}  // namespace kvorum::bbolt
