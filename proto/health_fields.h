// The fields of grpc.health.v1's messages that code by hand reads and writes too (sync/checks):
// their numbers stand here for it and for the tables (rpc/call/health.cc).
#pragma once

#include <cstdint>

namespace kvorum::wire::health_fields {

inline constexpr std::uint32_t kService = 1;  // of HealthCheckRequest
inline constexpr std::uint32_t kStatus = 1;   // of HealthCheckResponse

}  // namespace kvorum::wire::health_fields
