#include "tools/shell/colors.h"

#include <fmt/format.h>

#include "base/words.h"

namespace kvorum::ctl {

std::string_view Variable(const World& world, std::string_view name) {
  for (const std::string& variable : world.environment)
    if (const auto [key, value] = Cut(variable, '='); key == name) return value.value_or("");
  return {};
}

Colors::Colors(const Invocation& invocation)
    : on_(invocation.world.out_is_terminal && !invocation.flags.Switch("no-color") &&
          Variable(invocation.world, "NO_COLOR").empty() &&
          Variable(invocation.world, "TERM") != "dumb") {}

std::string Colors::Paint(std::string_view code, std::string_view text) const {
  return on_ ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

}  // namespace kvorum::ctl
