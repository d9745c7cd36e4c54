// How much a read looks at, and so where it is made: on the call's I/O loop, or on the readers'
// executor.
#pragma once

#include "mvcc/requests.h"
#include "server/call/service_context.h"

namespace kvorum::server {

// Judged by the number of rows, which the index tells in O(log n). A read that fits may turn out to
// have more bytes than AnswerLimits::loop_bytes.
bool FitsOnLoop(const ServiceContext& context, const mvcc::RangeRequest& request);
bool FitsOnLoop(const ServiceContext& context, const mvcc::TxnRequest& request);

}  // namespace kvorum::server
