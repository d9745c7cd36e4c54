// Checks of the options as a whole, each of which is valid by itself. Internal to options.cc.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "server/process/options.h"

namespace kvorum::server {

// The given values, by flag name; the last one wins.
using GivenFlags = std::map<std::string_view, std::string>;

std::optional<UsageError> CheckOptions(const Options& options, const GivenFlags& given);

}  // namespace kvorum::server
