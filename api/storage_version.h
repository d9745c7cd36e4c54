// The storage version: the oldest etcd that can read a database, as databases and members state it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "api/version_number.h"

namespace kvorum::server {

// Older databases state none.
inline constexpr Version kFirstStorageVersion{.major = 3, .minor = 6, .patch = 0};

// The version that Status and /version tell of the storage, which follows the cluster's as in etcd,
// where it says that a member's data can be read by that version.
std::string StorageVersionIn(std::string_view cluster_version);
// The one that etcd's file of this database states, by which its members and tools know whether
// they can read it: none before 3.6 (empty), the backend's own (nullopt) while no version is
// decided.
std::optional<std::string> ImageStorageVersion(std::string_view cluster_version);
// True for a file of a version that this program can read: older ones state none.
bool IsReadableStorage(std::string_view storage_version);

}  // namespace kvorum::server
