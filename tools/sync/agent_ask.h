// The commands that ask a running `agent run` through its control socket.
#pragma once

#include <vector>

#include "tools/shell/command.h"

namespace kvorum::ctl {

std::vector<Command> AgentAskCommands();

}  // namespace kvorum::ctl
