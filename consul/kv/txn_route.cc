// PUT /v1/txn.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "consul/kv/kv_answer.h"
#include "consul/kv/kv_context.h"
#include "consul/kv/kv_transaction.h"
#include "consul/kv/txn_body.h"

namespace kvorum::consul {
namespace {

Json ResultsJson(const std::vector<KvResult>& results) {
  Json list = Json::array();
  for (const KvResult& result : results)
    list.push_back({{"KV", PairJson(result.pair, result.has_value)}});
  return {{"Results", std::move(list)}, {"Errors", nullptr}};
}

Json ErrorsJson(const std::vector<KvError>& errors) {
  Json list = Json::array();
  for (const KvError& error : errors)
    list.push_back({{"OpIndex", error.operation}, {"What", error.what}});
  return {{"Results", nullptr}, {"Errors", std::move(list)}};
}

void AnswerTransaction(Exchange exchange, Result<KvDone> done) {
  if (!done) {
    const bool is_too_large = done.error().code == Code::kResourceExhausted &&
                              done.error().message.starts_with("Transaction contains");
    if (is_too_large) return exchange.Text(413, done.error().message);
    return exchange.StoreError(done.error());
  }
  if (!done->errors.empty()) return exchange.JsonAnswer(409, ErrorsJson(done->errors));
  exchange.OkJson(ResultsJson(done->results));
}

void RunOn(KvContext& context, Exchange exchange, std::vector<KvOperation> operations) {
  context.WithStore(
      std::move(exchange), [&context, operations = std::move(operations)](
                               Exchange its, std::shared_ptr<sync::Store> store) mutable {
        RunOperations(std::move(store), context.keys, context.work, std::move(operations),
                      [its = std::move(its)](Result<KvDone> done) mutable {
                        AnswerTransaction(std::move(its), std::move(done));
                      });
      });
}

}  // namespace

void RunTransaction(const std::shared_ptr<KvContext>& context, Exchange exchange) {
  if (!IsOurDatacenter(exchange, context->parts.datacenter)) return;
  const std::optional<Json> body = JsonBody(exchange, "Failed to parse body: ");
  if (!body) return;
  TxnBody operations = ParseTransaction(*body);
  if (!operations) return exchange.Text(operations.error().status, operations.error().text);
  const bool is_write = std::ranges::any_of(
      *operations, [](const KvOperation& operation) { return IsWrite(operation.verb); });
  if (is_write) return RunOn(*context, std::move(exchange), *std::move(operations));
  // A read: ?stale and ?consistent are taken, there is nothing to wait for, and no index.
  context->parts.reading.Read(std::move(exchange),
                              {.index = [] { return std::uint64_t{1}; }, .wait = nullptr},
                              [context, operations = *std::move(operations)](Exchange its) mutable {
                                context->work.Post([context, operations = std::move(operations),
                                                    its = std::move(its)]() mutable {
                                  RunOn(*context, std::move(its), std::move(operations));
                                });
                              });
}

}  // namespace kvorum::consul
