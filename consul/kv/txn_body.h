// The body of /v1/txn: a list of operations, each under the name of what it works on. Pure.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "consul/http/exchange.h"
#include "consul/kv/kv_operation.h"

namespace kvorum::consul {

// The answer to a malformed body.
struct TxnRefusal {
  unsigned status = 400;
  std::string text;
};
using TxnBody = std::expected<std::vector<KvOperation>, TxnRefusal>;

TxnBody ParseTransaction(const Json& body);

}  // namespace kvorum::consul
