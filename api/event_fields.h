// The fields of a watch's events that are written and read by hand: their numbers stand here for
// the table (watch_codec.cc) and for that code.
#pragma once

#include <cstdint>

namespace kvorum::watch::event_fields {

inline constexpr std::uint32_t kEvents = 11;  // of WatchResponse

// mvccpb.Event
inline constexpr std::uint32_t kType = 1;
inline constexpr std::uint32_t kKv = 2;
inline constexpr std::uint32_t kPrevKv = 3;

inline constexpr std::uint64_t kTypeDelete = 1;

}  // namespace kvorum::watch::event_fields
