// The event log of a run: one line per event, each of which goes into a digest; the last ones are
// kept for the report of a failure. Equal seeds make equal traces, byte for byte: a line may
// contain nothing of this machine (addresses, threads, time).
#pragma once

#include <fmt/core.h>

#include <cstdint>
#include <cstdio>
#include <deque>
#include <iterator>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/strong_number.h"

namespace kvorum::sim {

// The number as the formatter says; apart, since all that it takes is in the heavy <fmt/format.h>.
fmt::format_context::iterator FormatNumber(const fmt::formatter<std::uint64_t>& formatter,
                                           std::uint64_t number, fmt::format_context& context);

}  // namespace kvorum::sim

template <class Tag>
struct fmt::formatter<kvorum::StrongNumber<Tag>> : fmt::formatter<std::uint64_t> {
  auto format(kvorum::StrongNumber<Tag> number, fmt::format_context& context) const {
    return kvorum::sim::FormatNumber(*this, number.value(), context);
  }
};

namespace kvorum::sim {

class Trace {
 public:
  // The file, if any, gets every line and stays the caller's; keep_all keeps the whole text.
  explicit Trace(std::FILE* file = nullptr, bool keep_all = false)
      : file_(file), keep_all_(keep_all) {}

  template <class... Args>
  void Add(TimePoint now, fmt::format_string<Args...> format, Args&&... args) {
    line_.clear();
    AppendTime(now);
    fmt::format_to(std::back_inserter(line_), format, std::forward<Args>(args)...);
    line_.push_back('\n');
    Finish();
  }

  std::uint64_t digest() const { return digest_; }
  std::uint64_t lines() const { return lines_; }
  // With keep_all.
  const std::string& text() const { return text_; }
  // The last lines, oldest first.
  std::string Tail(std::size_t lines) const;

 private:
  static constexpr std::size_t kTailLines = 400;

  void AppendTime(TimePoint now);
  void Finish();

  std::FILE* file_;
  const bool keep_all_;
  std::string line_;
  std::string text_;
  std::deque<std::string> tail_;
  std::uint64_t digest_ = 14695981039346656037ULL;
  std::uint64_t lines_ = 0;
};

}  // namespace kvorum::sim
