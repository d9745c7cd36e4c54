// The parts of kvorumctl snapshot-server, one function and file each.
#pragma once

#include "tools/shell/command.h"

namespace kvorum::ctl {

Command SnapshotServerRunCommand();
Command SnapshotServerSubscribeCommand();
Command SnapshotServerStatusCommand();

}  // namespace kvorum::ctl
