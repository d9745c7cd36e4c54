// The fields of mvccpb.KeyValue: their numbers stand here for the table (api/kv_encode.cc) and for
// the code that reads and writes pairs by hand (key_value.cc).
#pragma once

#include <cstdint>

namespace kvorum::mvcc::key_value_fields {

inline constexpr std::uint32_t kKey = 1;
inline constexpr std::uint32_t kCreateRevision = 2;
inline constexpr std::uint32_t kModRevision = 3;
inline constexpr std::uint32_t kVersion = 4;
inline constexpr std::uint32_t kValue = 5;
inline constexpr std::uint32_t kLease = 6;

}  // namespace kvorum::mvcc::key_value_fields
