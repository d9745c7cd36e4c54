// The manual page of a program, in section 1, made from its tree of commands.
#pragma once

#include <string>
#include <string_view>

#include "tools/shell/command.h"

namespace kvorum::ctl {

// The parts of a page that the commands do not tell, in the macros of man(7).
struct ManText {
  std::string_view about;        // one line
  std::string_view description;  // its first sentences; no newline at the end
  std::string_view end;          // the sections behind the flags
};

// In the macros of man(7).
std::string ManPage(const Command& root, const ManText& text_of_program);

// The hidden command that prints the page.
Command ManCommand(const ManText& text);

// Text as it is to appear, for a line of a page.
std::string RoffText(std::string_view text);

}  // namespace kvorum::ctl
