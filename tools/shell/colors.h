// Colours for a person: on a terminal, unless the person objects by --no-color, NO_COLOR
// (no-color.org) or TERM=dumb. Immutable.
#pragma once

#include <string>
#include <string_view>

#include "tools/shell/command.h"

namespace kvorum::ctl {

class Colors {
 public:
  // The standard output decides.
  explicit Colors(const Invocation& invocation);

  std::string Red(std::string_view text) const { return Paint("31", text); }
  std::string Green(std::string_view text) const { return Paint("32", text); }
  std::string Yellow(std::string_view text) const { return Paint("33", text); }
  std::string Bold(std::string_view text) const { return Paint("1", text); }

 private:
  std::string Paint(std::string_view code, std::string_view text) const;

  bool on_ = false;
};

// The value of an environment variable; empty if it is not set.
std::string_view Variable(const World& world, std::string_view name);

}  // namespace kvorum::ctl
