#include "server/services/kv/nested_txn.h"

#include <memory>
#include <utility>

#include "api/entries/older_entry.h"
#include "api/kv_request_encode.h"
#include "server/call/reply_waiter.h"

namespace kvorum::server {

void ProposeNested(Proposer& proposer, const rpc::CallContext& call, Received<mvcc::TxnRequest> txn,
                   Reply<mvcc::TxnResult> reply) {
  auto take_out = [nested = NestRanges(txn.request)](mvcc::TxnResult& result) {
    TakeOut(nested, result);
  };
  const SharedBytes body = EncodeTxn(txn.request);
  proposer.ProposeFor(call.caller, call.loop(), RequestKind::kTxn, body.view(),
                      std::make_unique<ReplyWaiter<mvcc::TxnResult, decltype(take_out)>>(
                          proposer.cluster(), std::move(reply), std::move(take_out)),
                      proposer.limits().request_timeout);
}

}  // namespace kvorum::server
