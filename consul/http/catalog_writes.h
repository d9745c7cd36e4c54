// catalog/register and catalog/deregister: transactions on the registry's records with the
// caller's credentials, which write nothing if nothing changes.
//
// Thread-safe. What the parts name outlives it and its requests. A record that others change in
// between is read again, a bounded number of times.
#pragma once

#include <string>
#include <vector>

#include "consul/catalog/catalog_copy.h"
#include "consul/http/exchange.h"
#include "consul/http/store_access.h"
#include "consul/model/records.h"

namespace kvorum::consul {

struct CatalogWriteParts {
  CatalogCopy& copy;
  StoreAccess& access;
  RegistryKeys keys;
  std::string datacenter = "dc1";
};

// The two routes. The parts are copied.
std::vector<Route> CatalogWriteRoutes(const CatalogWriteParts& parts);

}  // namespace kvorum::consul
