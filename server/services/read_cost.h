// The cost of a read, and so its place: the call's I/O loop, or the readers' executor.
#pragma once

#include "mvcc/requests.h"
#include "server/call/service_context.h"

namespace kvorum::server {

// Decided by the number of rows, which the index gives in O(log n). A read that fits may turn out
// to have more bytes than AnswerLimits::loop_bytes.
bool FitsOnLoop(const ServiceContext& context, const mvcc::RangeRequest& request);
bool FitsOnLoop(const ServiceContext& context, const mvcc::TxnRequest& request);

}  // namespace kvorum::server
