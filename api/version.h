// The versions shown to clients, scripts and members. The API level is a matter of compatibility:
// clients decide on features by it.
#pragma once

#include <string>
#include <string_view>

namespace kvorum::server {

inline constexpr std::string_view kApiVersion = "3.7.3";
inline constexpr std::string_view kClusterVersion = "3.7.0";
inline constexpr std::string_view kStorageVersion = "3.7.0";

// The field of a member's answer about its versions to its peers by which ours are known.
inline constexpr const char* kIsKvorum = "kvorum";

// The text of --version.
std::string VersionText();

}  // namespace kvorum::server
