// GET /raft/probing: whether the peer is alive, the round-trip time, and the difference of its
// clock from ours.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace kvorum::server {

// {"OK":true,"Now":"2026-08-01T12:00:00.000000001Z"} and a newline.
std::string EncodeProbeAnswer(std::int64_t wall_ns);
// The time in an answer, in nanoseconds since the Unix epoch; nullopt if there is none, or it does
// not say OK.
std::optional<std::int64_t> DecodeProbeAnswer(std::string_view body);

}  // namespace kvorum::server
