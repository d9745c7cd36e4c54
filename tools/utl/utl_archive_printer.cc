#include "tools/utl/utl_archive_printer.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>

namespace kvorum::utl {

std::string ArchiveTimeText(archive::UnixMillis time_ms) {
  constexpr archive::UnixMillis kSecond = 1'000;
  const auto seconds = static_cast<std::time_t>(time_ms / kSecond);
  // Past the year 9999, where a damaged name may lead.
  constexpr std::time_t kLast = 253'402'300'799;
  if (time_ms < 0 || seconds > kLast) return fmt::format("{} ms", time_ms);
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(seconds), time_ms % kSecond);
}

std::string RangeText(const archive::StateRange& range) {
  return fmt::format("revisions {} to {} (index {} to {}), {} to {}", range.first.revision,
                     range.last.revision, range.first.index.value(), range.last.index.value(),
                     ArchiveTimeText(range.first.time_ms), ArchiveTimeText(range.last.time_ms));
}

ArchiveJson StateJson(const archive::StatePlace& state) {
  return {{"index", state.index.value()},
          {"revision", state.revision},
          {"time", ArchiveTimeText(state.time_ms)}};
}

ArchiveJson RangeJson(const archive::StateRange& range) {
  return {{"from", StateJson(range.first)}, {"to", StateJson(range.last)}};
}

std::string ArchiveJsonText(const ArchiveJson& json) {
  return json.dump(-1, ' ', false, ArchiveJson::error_handler_t::replace);
}

}  // namespace kvorum::utl
