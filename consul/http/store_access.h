// The store with a request's credentials: a client for each token, in an LRU of bounded size.
//
// Thread-safe. The empty token is the agent's own client.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/error.h"
#include "sync/store/store.h"

namespace kvorum::consul {

class StoreAccess {
 public:
  virtual ~StoreAccess() = default;
  // kUnauthenticated or kPermissionDenied: the token is refused; other errors: the store does not
  // answer. Calls back on any thread. The store lives as long as the reference.
  using OnStore = std::move_only_function<void(Result<std::shared_ptr<sync::Store>>)>;
  virtual void StoreOf(const std::string& token, OnStore on_store) = 0;
};

}  // namespace kvorum::consul
