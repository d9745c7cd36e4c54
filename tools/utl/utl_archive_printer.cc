#include "tools/utl/utl_archive_printer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "tools/utl/utl_archive_target.h"

namespace kvorum::utl {

std::string RangeText(const archive::StateRange& range) {
  return fmt::format("revisions {} to {} (index {} to {}), {} to {}", range.first.revision,
                     range.last.revision, range.first.index.value(), range.last.index.value(),
                     TimeText(range.first.time_ms), TimeText(range.last.time_ms));
}

ArchiveJson StateJson(const archive::StatePlace& state) {
  return {{"index", state.index.value()},
          {"revision", state.revision},
          {"time", TimeText(state.time_ms)}};
}

ArchiveJson RangeJson(const archive::StateRange& range) {
  return {{"from", StateJson(range.first)}, {"to", StateJson(range.last)}};
}

std::string ArchiveJsonText(const ArchiveJson& json) {
  return json.dump(-1, ' ', false, ArchiveJson::error_handler_t::replace);
}

}  // namespace kvorum::utl
