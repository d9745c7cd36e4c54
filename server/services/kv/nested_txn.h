// A transaction as members of etcd before 3.7 apply it whole (messages/older_entry.h): proposed
// with its ranges in nested transactions, answered as it was asked.
#pragma once

#include "rpc/call/call_context.h"
#include "server/call/method.h"
#include "server/call/reply.h"
#include "server/call/service_context.h"

namespace kvorum::server {

void ProposeNested(ServiceContext& context, const rpc::CallContext& call,
                   Received<mvcc::TxnRequest> txn, Reply<mvcc::TxnResult> reply);

}  // namespace kvorum::server
