// The titles under which the help of kvorumctl lists its commands.
#pragma once

namespace kvorum::ctl {

inline constexpr const char* kKeyValueGroup = "Key-value commands";
inline constexpr const char* kClusterGroup = "Cluster maintenance commands";
inline constexpr const char* kConcurrencyGroup = "Concurrency commands";
inline constexpr const char* kSyncGroup = "Agent commands";
inline constexpr const char* kAuthenticationGroup = "Authentication commands";
inline constexpr const char* kUtilityGroup = "Utility commands";

}  // namespace kvorum::ctl
