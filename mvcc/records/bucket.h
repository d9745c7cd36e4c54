// The buckets of the backend and the keys of its meta bucket: the single home of these names.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace kvorum::mvcc {

// In the order in which Hash visits them.
enum class Bucket : std::uint8_t {
  kKey,             // revision key -> encoded KeyValue
  kMeta,            // meta_key::* -> see there
  kLease,           // 8-byte lease id -> leasepb.Lease
  kAlarm,           // encoded AlarmMember -> empty
  kCluster,         // clusterVersion, downgrade
  kMembers,         // member id in hex -> member as JSON
  kMembersRemoved,  // member id in hex -> "removed"
  kAuth,            // authEnabled, authRevision
  kAuthUsers,       // name -> authpb.User
  kAuthRoles,       // name -> authpb.Role
};

inline constexpr std::array<std::string_view, 10> kBucketNames = {
    "key",  "meta",      "lease",    "alarm", "cluster", "members", "members_removed",
    "auth", "authUsers", "authRoles"};

constexpr std::string_view BucketName(Bucket bucket) {
  return kBucketNames[static_cast<std::size_t>(bucket)];
}

// The longest key that a backend's bucket accepts (LMDB's limit less the byte that names the
// bucket). The auth buckets, whose keys are names, have longer ones (long_key.h).
inline constexpr std::size_t kMaxBucketKeySizeBytes = 510;

namespace meta_key {
inline constexpr std::string_view kConsistentIndex = "consistent_index";      // 8 bytes
inline constexpr std::string_view kTerm = "term";                             // 8 bytes
inline constexpr std::string_view kConfState = "confState";                   // JSON
inline constexpr std::string_view kStorageVersion = "storageVersion";         // "3.7.0"
inline constexpr std::string_view kScheduledCompact = "scheduledCompactRev";  // revision key
inline constexpr std::string_view kFinishedCompact = "finishedCompactRev";    // revision key
// Ours alone: of the saved key indexes that belong to this database (mvcc/index/index_file.h); 16
// bytes each.
inline constexpr std::string_view kIndexMark = "kvorumIndexMark";
}  // namespace meta_key

}  // namespace kvorum::mvcc
