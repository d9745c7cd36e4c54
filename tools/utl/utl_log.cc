#include "tools/utl/utl_log.h"

#include <fmt/chrono.h>

#include <chrono>
#include <ctime>
#include <ostream>
#include <string>

namespace kvorum::utl {
namespace {

void LogLine(ctl::World& world, std::string_view level, std::string_view message, Fields fields) {
  std::string text;
  for (const auto& [name, value] : fields)
    text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", name, value);
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  world.err << fmt::format("{:%Y-%m-%dT%H:%M:%SZ}\t{}\t{}\t{{{}}}\n", fmt::gmtime(now), level,
                           message, text)
            << std::flush;
}

}  // namespace

void LogInfo(ctl::World& world, std::string_view message, Fields fields) {
  LogLine(world, "info", message, fields);
}

void LogWarning(ctl::World& world, std::string_view message, Fields fields) {
  LogLine(world, "warn", message, fields);
}

}  // namespace kvorum::utl
