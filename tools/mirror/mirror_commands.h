// The commands that keep a copy of a keyspace.
#pragma once

#include "tools/shell/command.h"

namespace kvorum::ctl {

Command MirrorCommand();
Command MakeMirrorCommand();

}  // namespace kvorum::ctl
