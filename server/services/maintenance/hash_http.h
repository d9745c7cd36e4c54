// GET /members/hashkv on the peer port: the hash of this member's keys at a revision, which members
// compare. Request and answer are JSON bodies with the fields of HashKVRequest and HashKVResponse.
// The hash is computed on the hasher; at most 64 requests wait for it, more are answered with 503.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "rpc/http/http.h"

namespace kvorum::server {

struct Reads;

inline constexpr std::string_view kHashKvPath = "/members/hashkv";

// The revision of a request, 0 without one, by the rules of Go's JSON: names in any case, the last
// of several counts, null changes nothing, an integer only. Nothing if it is malformed.
std::optional<std::int64_t> DecodeHashKvJson(std::string_view json);

// `reads` outlives the mux.
void HandleHashKv(rpc::HttpMux& mux, const Reads& reads);

}  // namespace kvorum::server
