// /v1/kv and /v1/txn.
//
// Thread-safe: requests come on their connections' loops, everything else is done on the executor.
// All parts outlive the routes; what is under way when the routes go is dropped, and answered 500.
// Bounds: an answer is kMaxAnswerBytes at most (kv_tree.h), a value kMaxValueBytes, a transaction
// kMaxTransactionOperations and what the store takes at once.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/task.h"
#include "consul/catalog/catalog_copy.h"
#include "consul/http/exchange.h"
#include "consul/http/reading.h"
#include "consul/http/store_access.h"
#include "consul/kv/kv_changes.h"

namespace kvorum::consul {

inline constexpr std::size_t kMaxTransactionOperations = 64;

struct KvParts {
  CatalogCopy& copy;  // tells which sessions live
  Reading& reading;
  StoreAccess& access;
  KvChanges& changes;
  Executor& executor;
  std::string root = "/kvorum";         // without a slash at its end
  std::string kv_root = "/kvorum/kv/";  // with it
  std::string datacenter = "dc1";
};

class KvRoutes {
 public:
  explicit KvRoutes(KvParts parts);
  ~KvRoutes();
  KvRoutes(const KvRoutes&) = delete;
  KvRoutes& operator=(const KvRoutes&) = delete;
  // The handlers must not be called once this has gone.
  std::vector<Route> Routes();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace kvorum::consul
