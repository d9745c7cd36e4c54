// GET /raft/probing: is the peer there, how long does it take, and how far is its clock from ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum::server {

// {"OK":true,"Now":"2026-08-01T12:00:00.000000001Z"} and a newline.
std::string EncodeProbeAnswer(std::int64_t wall_ns);
// The time that an answer tells, in nanoseconds since the Unix epoch; nullopt if it is none, or
// does not say OK.
std::optional<std::int64_t> DecodeProbeAnswer(std::string_view body);

}  // namespace kvorum::server
