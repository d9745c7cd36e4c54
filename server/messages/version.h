// The versions shown to clients, scripts and members. The API level is a matter of compatibility:
// clients decide on features by it.
#pragma once

#include <string>
#include <string_view>

namespace kvorum::server {

inline constexpr std::string_view kApiVersion = "3.7.3";
inline constexpr std::string_view kClusterVersion = "3.7.0";
inline constexpr std::string_view kStorageVersion = "3.7.0";

// The text of --version.
std::string VersionText();

}  // namespace kvorum::server
