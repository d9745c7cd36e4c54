// The manual page kvorumctl(1), made from the tree of commands.
#pragma once

#include <string>

#include "tools/command.h"

namespace kvorum::ctl {

// In the macros of man(7).
std::string ManPage(const Command& root);

// The hidden command that prints the page.
Command ManCommand();

// Text as it is to appear, for a line of a page.
std::string RoffText(std::string_view text);

}  // namespace kvorum::ctl
