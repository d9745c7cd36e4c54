// The handlers of /v1/kv and /v1/txn share this; requests that wait elsewhere hold on to it. The
// parts are used on the work alone, which stops when the routes go. Internal to consul/kv.
#pragma once

#include <memory>
#include <utility>

#include "consul/kv/kv_form.h"
#include "consul/kv/kv_routes.h"
#include "consul/kv/kv_tree.h"
#include "consul/kv/work.h"

namespace kvorum::consul {

struct KvContext : std::enable_shared_from_this<KvContext> {
  explicit KvContext(KvParts its_parts)
      : parts(std::move(its_parts)), keys(parts.root, parts.kv_root), work(parts.executor) {}

  // Hands on, on the work, the exchange with the store for its token; a refusal is answered.
  template <class Handle>  // (Exchange, std::shared_ptr<sync::Store>)
  void WithStore(Exchange exchange, Handle handle) {
    const std::string token = exchange.token();
    parts.access.StoreOf(token, work.OnInTime<std::shared_ptr<sync::Store>>(
                                    [exchange = std::move(exchange), handle = std::move(handle)](
                                        Result<std::shared_ptr<sync::Store>> store) mutable {
                                      if (!store) return exchange.StoreError(store.error());
                                      handle(std::move(exchange), *std::move(store));
                                    }));
  }

  const KvParts parts;
  const KvKeys keys;
  Work work;
};

// GET /v1/kv/..., after it has been waited for.
void ReadKv(const std::shared_ptr<KvContext>& context, Exchange exchange);
// PUT /v1/txn.
void RunTransaction(const std::shared_ptr<KvContext>& context, Exchange exchange);

}  // namespace kvorum::consul
