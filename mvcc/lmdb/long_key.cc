#include "mvcc/lmdb/long_key.h"

#include <openssl/sha.h>

#include <array>
#include <cstdint>
#include <utility>

#include "base/check.h"

namespace kvorum::mvcc {
namespace {

constexpr std::size_t kSizeBytes = 4;

bool HasLongKeys(Bucket bucket) {
  return bucket == Bucket::kAuth || bucket == Bucket::kAuthUsers || bucket == Bucket::kAuthRoles;
}

}  // namespace

static_assert(kLongKeyPrefixBytes + SHA256_DIGEST_LENGTH == kMaxBucketKeySizeBytes);

bool IsLongKey(Bucket bucket, std::string_view key) {
  return HasLongKeys(bucket) && key.size() > kMaxPlainKeySizeBytes;
}

std::string StoredKey(std::string_view long_key) {
  KV_CHECK(long_key.size() > kMaxPlainKeySizeBytes, "a short key is stored as it is");
  std::array<unsigned char, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(long_key.data()), long_key.size(), digest.data());
  return std::string(long_key.substr(0, kLongKeyPrefixBytes)).append(digest.begin(), digest.end());
}

BucketRecord StoredForm(std::string_view long_key, std::string_view value) {
  BucketRecord record{.key = StoredKey(long_key), .value = {}};
  record.value.reserve(kSizeBytes + long_key.size() + value.size());
  for (std::size_t i = 0; i < kSizeBytes; ++i)
    record.value += static_cast<char>(long_key.size() >> (8 * i) & 0xff);
  record.value.append(long_key).append(value);
  return record;
}

Result<BucketRecordView> ReadStored(Bucket bucket, std::string_view key, std::string_view value) {
  if (!IsLongKey(bucket, key)) return BucketRecordView{.key = key, .value = value};
  const auto damaged = [] {
    return Fail(Code::kDataLoss, "mvcc: the record of a long name is malformed");
  };
  if (value.size() < kSizeBytes) return damaged();
  std::size_t size = 0;
  for (std::size_t i = kSizeBytes; i-- > 0;) size = size << 8 | static_cast<std::uint8_t>(value[i]);
  value.remove_prefix(kSizeBytes);
  if (size <= kMaxPlainKeySizeBytes || size > value.size()) return damaged();
  const BucketRecordView record{.key = value.substr(0, size), .value = value.substr(size)};
  if (StoredKey(record.key) != key) return damaged();
  return record;
}

Result<void> ScanBucket(Snapshot& content, Bucket bucket, const VisitBucketRecord& visit) {
  KV_CHECK(bucket != Bucket::kKey, "revisions are scanned as such");
  Result<void> visited;
  KV_RETURN_IF_ERROR(
      content.Scan(bucket, {}, {}, [&](std::string_view key, std::string_view value) {
        const auto record = ReadStored(bucket, key, value);
        if (record.has_value()) {
          visited = visit(record->key, record->value);
        } else {
          visited = std::unexpected(record.error());
        }
        return visited.has_value();
      }));
  return visited;
}

bool KeyGroup::Holds(Bucket bucket, std::string_view key) {
  return HasLongKeys(bucket) && key.size() >= kLongKeyPrefixBytes;
}

void KeyGroup::Add(std::string_view key, std::string_view value) {
  if (empty()) prefix_ = key.substr(0, kLongKeyPrefixBytes);
  records_.emplace(key, value);
}

Result<void> KeyGroup::Drain(const VisitBucketRecord& visit) {
  for (const auto& [key, value] : std::exchange(records_, {}))
    KV_RETURN_IF_ERROR(visit(key, value));
  return {};
}

}  // namespace kvorum::mvcc
