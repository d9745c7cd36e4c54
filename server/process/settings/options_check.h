// Checks of the options as a whole, each of which is valid by itself. Internal to options.cc.
#pragma once

#include <vector>

#include "server/process/settings/options.h"
#include "server/process/settings/settings.h"

namespace kvorum::server {

// All faults, in etcd's order of checks: the first is the one that it reports.
std::vector<UsageError> CheckOptions(const Options& options, const GivenFlags& given);

}  // namespace kvorum::server
