// GET /v1/catalog and /v1/health: answers from the copy, each on the topics that it is made of.
//
// Thread-safe. What the parts name outlives the routes and their requests. Every answer is of what
// the catalog holds, whose size the agents bound.
#pragma once

#include <string>
#include <vector>

#include "consul/catalog/catalog_copy.h"
#include "consul/http/exchange.h"
#include "consul/http/reading.h"

namespace kvorum::consul {

struct CatalogReadParts {
  CatalogCopy& copy;
  Reading& reading;
  std::string node;  // this agent's: the node that is near
  std::string datacenter = "dc1";
};

std::vector<Route> CatalogReadRoutes(const CatalogReadParts& parts);
std::vector<Route> HealthRoutes(const CatalogReadParts& parts);

}  // namespace kvorum::consul
