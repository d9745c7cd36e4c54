// The line that says with what the server starts, under the names that etcd's has: operators and
// tests look for `"snapshot-catchup-entries":5000` and its like.
#pragma once

#include "server/process/options.h"

namespace kvorum::server {

void LogStartup(const Options& options);

}  // namespace kvorum::server
