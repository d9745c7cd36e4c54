// The part of a backend's content that etcd has too, and its order in etcd's file.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include "mvcc/records/bucket.h"

namespace kvorum::mvcc {

// In the order of their names, which is the file's.
inline constexpr std::array<Bucket, kBucketNames.size()> kBucketsByName = [] {
  std::array<Bucket, kBucketNames.size()> buckets{};
  for (std::size_t i = 0; i < buckets.size(); ++i) buckets[i] = static_cast<Bucket>(i);
  std::ranges::sort(buckets, {}, BucketName);
  return buckets;
}();

// The auth bucket also holds what only our members know: since when tokens, users and roles count.
constexpr bool IsEtcds(Bucket bucket, std::string_view key) {
  if (bucket == Bucket::kMeta) return key != meta_key::kIndexMark;
  return bucket != Bucket::kAuth || key == "authEnabled" || key == "authRevision";
}

}  // namespace kvorum::mvcc
