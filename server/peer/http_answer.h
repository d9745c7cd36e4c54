// Answers and status lines of HTTP/1.1 as bytes.
#pragma once

#include <string>
#include <vector>

#include "base/shared_bytes.h"
#include "rpc/http.h"

namespace kvorum::server {

// The whole answer. `head_only`: for a HEAD request.
ByteChain EncodeAnswer(rpc::HttpResponse response, bool keep_alive, bool head_only);
// The head of a 200 whose body goes on until the connection ends.
ByteChain EncodeStreamAnswer(const std::vector<rpc::HttpHeader>& headers);

}  // namespace kvorum::server
