// Answers and status lines of HTTP/1.1 as bytes, and the bounds of what a peer may answer.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/shared_bytes.h"
#include "rpc/http/http.h"

namespace kvorum::server {

inline constexpr std::size_t kMaxAnswerHeadBytes = std::size_t{64} << 10;
// The text with which a peer refuses a stream or a snapshot.
inline constexpr std::size_t kMaxRefusalBytes = std::size_t{4} << 10;

// The whole answer. `head_only`: for a HEAD request.
ByteChain EncodeAnswer(rpc::HttpResponse response, bool keep_alive, bool head_only);
// The head of a 200 whose body goes on until the connection ends.
ByteChain EncodeStreamAnswer(const std::vector<rpc::HttpHeader>& headers);

}  // namespace kvorum::server
