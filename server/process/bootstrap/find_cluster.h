// The first members of a cluster, where --initial-cluster does not name them.
#pragma once

#include "base/error.h"
#include "server/process/settings/options.h"

namespace kvorum::server {

// Asks DNS or a discovery cluster, whichever the flags name, and sets the options as if
// --initial-cluster had been given. A member that has data goes by that. Blocks its thread until
// the cluster is found.
Result<void> FindCluster(Options& options);

}  // namespace kvorum::server
