// A watch of a simulated program: over one stream after another, from where it was, as the client's
// own watches go on (client/watch.h).
#pragma once

#include <memory>

#include "sync/store/store.h"
#include "tests/sim/world/sim_connection.h"

namespace kvorum::sim {

std::unique_ptr<sync::StoreWatch> BeginWatch(std::shared_ptr<SimStore::Connection> connection,
                                             const sync::WatchRequest& request,
                                             sync::WatchSink sink);

}  // namespace kvorum::sim
