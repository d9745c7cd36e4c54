// Logs the settings with which the server starts, under the names of etcd's line: operators and
// tests look for `"snapshot-catchup-entries":5000` and the like.
#pragma once

#include "server/process/settings/options.h"

namespace kvorum::server {

void LogStartup(const Options& options);

}  // namespace kvorum::server
