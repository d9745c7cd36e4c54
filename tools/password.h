// A password typed by a person.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>

#include "tools/outcome.h"

namespace kvorum::ctl {

// Shows the prompt and reads a line from the terminal, which does not show what is typed. Fails if
// the standard input is no terminal.
Outcome<std::string> AskPassword(std::string_view prompt, std::ostream& out);

}  // namespace kvorum::ctl
