// The metadata and the time limit of a call, read from the headers of its HTTP request.
//
// `Authorization` is the token; `Grpc-Metadata-Name` is metadata "name"; `Grpc-Timeout` limits the
// call. As in etcd's gateway; other headers reach no handler.
#pragma once

#include "base/error.h"
#include "rpc/call/call_context.h"
#include "rpc/http/http.h"

namespace kvorum::server::gateway {

// kInvalidArgument for a time limit or a binary value that cannot be read.
Result<void> ReadCallHeaders(const rpc::HttpRequest& request, rpc::CallContext& call);

}  // namespace kvorum::server::gateway
