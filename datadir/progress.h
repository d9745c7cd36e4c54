// The progress of long work on files, reported step by step: for a bar on a terminal, or a line in
// a log.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

namespace kvorum::datadir {

// `step` is a literal: "checking". A total of 0 means that the step's size is not known. Called on
// the caller's thread, often; may be empty.
using OnProgress =
    std::function<void(std::string_view step, std::uint64_t done_bytes, std::uint64_t total_bytes)>;

inline constexpr std::string_view kChecking = "checking";
inline constexpr std::string_view kCopying = "copying";
inline constexpr std::string_view kComparing = "comparing";
inline constexpr std::string_view kReading = "reading";
inline constexpr std::string_view kReadingLog = "reading the log";

inline void Tell(const OnProgress& on_progress, std::string_view step, std::uint64_t done = 0,
                 std::uint64_t total = 0) {
  if (on_progress) on_progress(step, done, total);
}

}  // namespace kvorum::datadir
