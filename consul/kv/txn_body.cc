#include "consul/kv/txn_body.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/base64.h"
#include "base/text/go_quote.h"
#include "consul/kv/kv_answer.h"
#include "consul/kv/kv_routes.h"
#include "consul/model/fields.h"

namespace kvorum::consul {
namespace {

std::unexpected<TxnRefusal> RefuseBody(unsigned status, std::string text) {
  return std::unexpected(TxnRefusal{status, std::move(text)});
}
std::unexpected<TxnRefusal> Malformed(const std::string& what) {
  return RefuseBody(400, "Failed to parse body: " + what);
}

Result<void> ReadOperation(const Json& kv, KvOperation& operation, std::string& verb,
                           std::string& value) {
  if (!kv.is_object()) return Fail(WrongType("KV", kv, "api.KVTxnOp"));
  Fields fields(kv);
  KV_RETURN_IF_ERROR(fields.Read("Verb", verb));
  KV_RETURN_IF_ERROR(fields.Read("Key", operation.key));
  KV_RETURN_IF_ERROR(fields.Read("Value", value));
  KV_RETURN_IF_ERROR(fields.Read("Session", operation.session));
  KV_RETURN_IF_ERROR(fields.Read("Flags", operation.flags));
  return fields.Read("Index", operation.index);
}

std::expected<KvOperation, TxnRefusal> ParseKv(const Json& kv) {
  KvOperation operation;
  std::string verb;
  std::string value;
  if (const Result<void> read = ReadOperation(kv, operation, verb, value); !read)
    return Malformed(read.error().message);
  auto decoded = DecodeBase64(Base64::kStandard, value);
  if (!decoded)
    return Malformed("illegal base64 data at input byte " + std::to_string(decoded.error().offset));
  operation.value = *std::move(decoded);
  if (operation.value.size() > kMaxValueBytes)
    return RefuseBody(413, "Value for key " + GoQuote(operation.key) + " is too large (" +
                               std::to_string(operation.value.size()) + " > " +
                               std::to_string(kMaxValueBytes) + " bytes)");
  operation.verb = KvVerbOf(verb);
  if (operation.verb == KvVerb::kUnknown) operation.value = verb;
  return operation;
}

}  // namespace

TxnBody ParseTransaction(const Json& body) {
  if (!body.is_array()) return Malformed("the body is not a list of operations");
  if (body.size() > kMaxTransactionOperations)
    return RefuseBody(413, "Transaction contains too many operations (" +
                               std::to_string(body.size()) + " > " +
                               std::to_string(kMaxTransactionOperations) + ")");
  std::vector<KvOperation> operations;
  for (const Json& entry : body) {
    Fields fields(entry);
    const Json* kv = fields.Find("KV");
    if (kv == nullptr) {
      for (const char* other : {"Node", "Service", "Check"}) {
        if (fields.Find(other) != nullptr)
          return RefuseBody(400, std::string(other) +
                                     " operations are not supported in a transaction: use "
                                     "/v1/catalog/register and /v1/catalog/deregister");
      }
      return Malformed("an operation has no KV");
    }
    auto operation = ParseKv(*kv);
    if (!operation) return std::unexpected(operation.error());
    operations.push_back(*std::move(operation));
  }
  return operations;
}

}  // namespace kvorum::consul
