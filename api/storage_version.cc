#include "api/storage_version.h"

#include "api/version.h"

namespace kvorum::server {

std::string StorageVersionIn(std::string_view cluster_version) {
  const auto version = Version::Parse(cluster_version);
  if (!version.has_value() || *version <= kLowestClusterVersion || *version > kOwnClusterVersion)
    return std::string(kStorageVersion);
  return version->text();
}

std::optional<std::string> ImageStorageVersion(std::string_view cluster_version) {
  const auto version = Version::Parse(cluster_version);
  if (!version.has_value() || *version <= kLowestClusterVersion) return std::nullopt;
  if (*version < kFirstStorageVersion) return std::string();
  return StorageVersionIn(cluster_version);
}

bool IsReadableStorage(std::string_view storage_version) {
  if (storage_version.empty()) return true;
  const auto version = Version::Parse(storage_version);
  return version.has_value() && *version >= kFirstStorageVersion && *version <= kOwnClusterVersion;
}

}  // namespace kvorum::server
