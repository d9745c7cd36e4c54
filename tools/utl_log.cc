#include "tools/utl_log.h"

#include <fmt/chrono.h>

#include <chrono>
#include <ctime>
#include <ostream>
#include <string>

namespace kvorum::utl {

void LogInfo(ctl::World& world, std::string_view message, Fields fields) {
  std::string text;
  for (const auto& [name, value] : fields)
    text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", name, value);
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  world.err << fmt::format("{:%Y-%m-%dT%H:%M:%SZ}\tinfo\t{}\t{{{}}}\n", fmt::gmtime(now), message,
                           text)
            << std::flush;
}

}  // namespace kvorum::utl
