// The errors of calls as answers of HTTP.
#pragma once

#include "base/error.h"
#include "rpc/http/http.h"

namespace kvorum::server::gateway {

unsigned HttpStatusOf(Code code);

// {"code":..., "message":"..."} under the code's status.
rpc::HttpResponse ErrorResponse(const Error& error);

}  // namespace kvorum::server::gateway
