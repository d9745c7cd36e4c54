// The checks that an instance's health is made of: its service's and its node's, serfHealth among
// them. Pure functions.
#pragma once

#include "consul/catalog/catalog_copy.h"
#include "consul/http/exchange.h"

namespace kvorum::consul {

// Appends the node's checks as the API writes them, by their ids; an agent's node begins with
// serfHealth.
void AppendNodeChecks(const NodeView& node, Json& checks);
void AppendServiceChecks(const ServiceRecord& service, Json& checks);
bool IsPassing(const Instance& instance);

}  // namespace kvorum::consul
