// /v1/session: a session is a key on a lease, so that it ends with it also when agents die.
//
//   with a TTL                      its own lease of twice the TTL; a renewal keeps it alive
//   without, leaning on serfHealth  the lease of its node's life key
//   without both                    no lease: until it is destroyed or its node is removed
//
// Thread-safe, like KvRoutes. All parts outlive the routes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/task.h"
#include "consul/catalog/catalog_copy.h"
#include "consul/http/exchange.h"
#include "consul/http/reading.h"
#include "consul/http/store_access.h"
#include "sync/store/store.h"

namespace kvorum::consul {

struct SessionParts {
  CatalogCopy& copy;
  Reading& reading;
  StoreAccess& access;
  sync::Store& store;  // the agent's own, which clears the keys of a session that was destroyed
  Executor& executor;
  std::string node = {};                // this agent's
  std::string root = "/kvorum";         // without a slash at its end
  std::string kv_root = "/kvorum/kv/";  // with it
  std::string datacenter = "dc1";
};

class SessionRoutes {
 public:
  explicit SessionRoutes(SessionParts parts);
  ~SessionRoutes();
  SessionRoutes(const SessionRoutes&) = delete;
  SessionRoutes& operator=(const SessionRoutes&) = delete;
  // The handlers must not be called once this has gone.
  std::vector<Route> Routes();

 private:
  struct Context;
  std::shared_ptr<Context> context_;
};

}  // namespace kvorum::consul
