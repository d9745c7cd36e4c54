#include "consul/kv/kv_routes.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "consul/kv/kv_answer.h"
#include "consul/kv/kv_context.h"
#include "consul/kv/kv_transaction.h"

namespace kvorum::consul {
namespace {

// One operation, whose answer is `true` or `false`.
void RunOne(KvContext& context, Exchange exchange, KvOperation operation) {
  context.WithStore(
      std::move(exchange), [&context, operation = std::move(operation)](
                               Exchange its, std::shared_ptr<sync::Store> store) mutable {
        RunOperations(std::move(store), context.keys, context.work, {std::move(operation)},
                      [its = std::move(its)](Result<KvDone> done) mutable {
                        if (!done) return its.StoreError(done.error());
                        if (done->errors.empty()) return its.OkJson(Json(true));
                        if (!done->errors.front().is_fault) return its.OkJson(Json(false));
                        its.Text(500, done->errors.front().what);
                      });
      });
}

void PutKey(KvContext& context, Exchange exchange) {
  if (!IsOurDatacenter(exchange, context.parts.datacenter)) return;
  if (exchange.rest().empty()) return exchange.Text(400, "Missing key name");
  if (!HasOneOf(exchange, {"acquire", "cas", "release"})) return;
  const std::optional<std::uint64_t> flags = NumberOf(exchange, "flags");
  if (!flags) return;
  KvOperation operation{.verb = KvVerb::kSet,
                        .key = exchange.rest(),
                        .value = std::string(exchange.body()),
                        .flags = *flags};
  if (exchange.Has("cas")) {
    const std::optional<std::uint64_t> index = NumberOf(exchange, "cas");
    if (!index) return;
    operation.verb = KvVerb::kCas;
    operation.index = *index;
  } else if (const auto session = exchange.Parameter("acquire")) {
    operation.verb = KvVerb::kLock;
    operation.session = *session;
  } else if (const auto holder = exchange.Parameter("release")) {
    operation.verb = KvVerb::kUnlock;
    operation.session = *holder;
  }
  RunOne(context, std::move(exchange), std::move(operation));
}

void DeleteKey(KvContext& context, Exchange exchange) {
  if (!IsOurDatacenter(exchange, context.parts.datacenter)) return;
  const bool is_recursive = exchange.Has("recurse");
  if (exchange.rest().empty() && !is_recursive) return exchange.Text(400, "Missing key name");
  if (!HasOneOf(exchange, {"cas", "recurse"})) return;
  KvOperation operation{.verb = is_recursive ? KvVerb::kDeleteTree : KvVerb::kDelete,
                        .key = exchange.rest()};
  if (exchange.Has("cas")) {
    const std::optional<std::uint64_t> index = NumberOf(exchange, "cas");
    if (!index) return;
    operation.verb = KvVerb::kDeleteCas;
    operation.index = *index;
  }
  RunOne(context, std::move(exchange), std::move(operation));
}

}  // namespace

struct KvRoutes::Impl {
  explicit Impl(KvParts parts) : context(std::make_shared<KvContext>(std::move(parts))) {}
  ~Impl() { context->work.Stop(); }
  const std::shared_ptr<KvContext> context;
};

KvRoutes::KvRoutes(KvParts parts) : impl_(std::make_unique<Impl>(std::move(parts))) {}
KvRoutes::~KvRoutes() = default;

std::vector<Route> KvRoutes::Routes() {
  const std::shared_ptr<KvContext> context = impl_->context;
  return WithoutSlashes(
      {{.path = "/v1/kv/",
        .methods = "GET,PUT,DELETE",
        .handle =
            [context](Exchange exchange) {
              if (exchange.method() == "PUT") return PutKey(*context, std::move(exchange));
              if (exchange.method() == "DELETE") return DeleteKey(*context, std::move(exchange));
              ReadKv(context, std::move(exchange));
            },
        .max_body_bytes = kMaxValueBytes},
       {.path = "/v1/txn",
        .methods = "PUT",
        .writes = true,
        .handle = [context](Exchange exchange) { RunTransaction(context, std::move(exchange)); },
        .max_body_bytes = kMaxTransactionBytes}});
}

}  // namespace kvorum::consul
