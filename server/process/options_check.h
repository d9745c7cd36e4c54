// What is wrong with options as a whole, each of which is sound by itself. Internal to options.cc.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "server/process/options.h"

namespace kvorum::server {

// What was said, by flag name; the last one wins.
using GivenFlags = std::map<std::string_view, std::string>;

std::optional<UsageError> CheckOptions(const Options& options, const GivenFlags& given);

}  // namespace kvorum::server
