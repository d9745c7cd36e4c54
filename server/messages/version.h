// The versions that clients, scripts and members read. The API level is a fact of compatibility:
// clients decide on features by it.
#pragma once

#include <string>
#include <string_view>

namespace kvorum::server {

inline constexpr std::string_view kApiVersion = "3.7.1";
inline constexpr std::string_view kClusterVersion = "3.7.0";
inline constexpr std::string_view kStorageVersion = "3.7.0";

// What --version prints.
std::string VersionText();

}  // namespace kvorum::server
