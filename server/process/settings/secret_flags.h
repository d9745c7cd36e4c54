// The flags whose values must not appear on a terminal, in a log or at a debugging page, and a
// command line without them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvorum::server {

// Stands for what is not shown.
inline constexpr std::string_view kHiddenValue = "***";

// `flag` without its dashes.
bool IsSecretFlag(std::string_view flag);

// The arguments of a process, with kHiddenValue for the values of secret flags and for what stands
// before the host in a URL.
std::vector<std::string> WithoutSecrets(std::vector<std::string> arguments);

}  // namespace kvorum::server
