// The commands that judge a cluster.
#pragma once

#include "tools/shell/command.h"

namespace kvorum::ctl {

Command DoctorCommand();
Command TopCommand();
Command CheckCommand();

}  // namespace kvorum::ctl
