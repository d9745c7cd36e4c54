#include "tests/sim/trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace kvorum::sim {

fmt::format_context::iterator FormatNumber(const fmt::formatter<std::uint64_t>& formatter,
                                           std::uint64_t number, fmt::format_context& context) {
  return formatter.format(number, context);
}

void Trace::AppendTime(TimePoint now) {
  const std::int64_t micros = now.ns / 1000;
  fmt::format_to(std::back_inserter(line_), "{:>4}.{:06} ", micros / 1'000'000, micros % 1'000'000);
}

void Trace::Finish() {
  for (const char c : line_) {  // FNV-1a
    digest_ = (digest_ ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  }
  ++lines_;
  if (file_ != nullptr) std::fwrite(line_.data(), 1, line_.size(), file_);
  if (keep_all_) text_ += line_;
  if (tail_.size() < kTailLines) {
    tail_.push_back(line_);
    return;
  }
  std::string oldest = std::move(tail_.front());  // its memory is used again
  tail_.pop_front();
  oldest = line_;
  tail_.push_back(std::move(oldest));
}

std::string Trace::Tail(std::size_t lines) const {
  std::string text;
  const std::size_t count = std::min(lines, tail_.size());
  for (auto it = tail_.end() - static_cast<std::ptrdiff_t>(count); it != tail_.end(); ++it)
    text += *it;
  return text;
}

}  // namespace kvorum::sim
