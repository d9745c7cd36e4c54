// A password given by a person, or by another program through a pipe.
//
// Used before other threads are started: while a terminal is asked, SIGINT, SIGTERM, SIGHUP and
// SIGQUIT are the prompt's own.
#pragma once

#include <string>
#include <string_view>

#include "tools/command.h"

namespace kvorum::ctl {

// Shows the prompt on the standard output and reads a line of the standard input. A terminal does
// not show what is typed; what it showed before is restored however the prompt ends, by a signal
// too, which then ends the process as it does by default. The end of the input is an empty
// password.
Outcome<std::string> AskPassword(std::string_view prompt, World& world);

// Asks for a new password of `user` twice. Refuses an empty one, and two that differ.
Outcome<std::string> AskNewPassword(std::string_view user, World& world);

// The password that a program writes to the standard input: the first line, without white space
// around it. Refuses an empty one, and one with white space in it.
Outcome<std::string> ReadPassword(World& world);

}  // namespace kvorum::ctl
