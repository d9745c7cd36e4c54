// Fields of requests and answers, by their numbers: Bytes(1, "k") + Number(3, 5).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "proto/wire.h"

namespace kvorum::server::tracing {

inline std::string Bytes(std::uint32_t field, std::string_view value) {
  std::string out;
  wire::AppendBytesAlways(out, field, value);
  return out;
}
inline std::string Number(std::uint32_t field, std::int64_t value) {
  std::string out;
  wire::AppendUintAlways(out, field, static_cast<std::uint64_t>(value));
  return out;
}

}  // namespace kvorum::server::tracing
