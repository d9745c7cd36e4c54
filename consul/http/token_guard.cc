#include "consul/http/token_guard.h"

#include <functional>
#include <memory>
#include <utility>

#include "base/key_range.h"
#include "consul/http/deadlines.h"

namespace kvorum::consul {
namespace {

using Handle = std::function<void(Exchange exchange)>;

// Runs the handler on the exchange's loop, or answers with the refusal.
void Pass(Exchange exchange, const Handle& handle, Result<void> allowed) {
  Executor& loop = exchange.loop();
  loop.Post([exchange = std::move(exchange), handle, allowed = std::move(allowed)]() mutable {
    if (!allowed) return exchange.StoreError(allowed.error());
    handle(std::move(exchange));
  });
}

void Ask(Exchange exchange, const Handle& handle, StoreAccess& access, const std::string& prefix,
         const std::shared_ptr<Deadlines>& deadlines) {
  const std::string token = exchange.token();
  auto pass = AnsweredInTime<void>(
      deadlines, [exchange = std::move(exchange), handle](Result<void> allowed) mutable {
        Pass(std::move(exchange), handle, std::move(allowed));
      });
  access.StoreOf(
      token, [pass = std::move(pass), prefix](Result<std::shared_ptr<sync::Store>> store) mutable {
        if (!store) return pass(Fail(store.error()));
        sync::Store& asked = **store;
        asked.Range({.key = prefix, .end = PrefixEnd(prefix), .count_only = true},
                    [pass = std::move(pass),
                     kept = *std::move(store)](Result<sync::RangeAnswer> answer) mutable {
                      pass(answer ? Result<void>() : Fail(answer.error()));
                    });
      });
}

}  // namespace

std::vector<Route> GuardedByToken(std::vector<Route> routes, StoreAccess& access,
                                  const std::string& registry_prefix, Executor& executor) {
  const auto deadlines = std::make_shared<Deadlines>(executor);
  for (Route& route : routes) {
    route.handle = [handle = std::move(route.handle), &access, registry_prefix,
                    deadlines](Exchange exchange) {
      if (exchange.token().empty()) return handle(std::move(exchange));
      Ask(std::move(exchange), handle, access, registry_prefix, deadlines);
    };
  }
  return routes;
}

}  // namespace kvorum::consul
