// A transaction as members of etcd before 3.7 apply it whole (api/entries/older_entry.h): proposed
// with its ranges in nested transactions, answered as it was asked.
#pragma once

#include "rpc/call/call_context.h"
#include "server/call/method.h"
#include "server/call/reply.h"

namespace kvorum::server {

class Proposer;

void ProposeNested(Proposer& proposer, const rpc::CallContext& call, Received<mvcc::TxnRequest> txn,
                   Reply<mvcc::TxnResult> reply);

}  // namespace kvorum::server
