// Lets a request with a token reach routes of the agent's own state only if the store lets that
// token read the registry: the agent cannot judge it. A refused token gets 403 and changes nothing.
//
// Thread-safe; handlers run on the exchange's loop, as without the guard. The access and the
// executor, which has the timers, outlive the routes' last answer. A store that does not answer
// within kHoldTimeout is as good as none.
#pragma once

#include <string>
#include <vector>

#include "base/task.h"
#include "consul/http/exchange.h"
#include "consul/http/store_access.h"

namespace kvorum::consul {

// `registry_prefix` is RegistryKeys::prefix(). Requests without a token pass at once.
std::vector<Route> GuardedByToken(std::vector<Route> routes, StoreAccess& access,
                                  const std::string& registry_prefix, Executor& executor);

}  // namespace kvorum::consul
