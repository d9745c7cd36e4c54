// Reads a password from a person, or from another program through a pipe.
//
// Used before other threads are started: while it reads from a terminal, SIGINT, SIGTERM, SIGHUP
// and SIGQUIT belong to the prompt.
#pragma once

#include <string>
#include <string_view>

#include "tools/shell/command.h"

namespace kvorum::ctl {

// Shows the prompt on the standard output and reads a line of the standard input. A terminal does
// not echo the input; its settings are restored however the prompt ends, also by a signal, which
// then ends the process as it does by default. The end of the input is an empty password.
Outcome<std::string> AskPassword(std::string_view prompt, World& world);

// Asks twice for a new password of `user`. Refuses an empty one, and two that differ.
Outcome<std::string> AskNewPassword(std::string_view user, World& world);

// The password that a program writes to the standard input: the first line, without surrounding
// white space. Refuses an empty one, and one with white space in it.
Outcome<std::string> ReadPassword(World& world);

}  // namespace kvorum::ctl
