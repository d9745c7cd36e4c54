// The commands that look into a keyspace or carry it elsewhere.
#pragma once

#include "tools/shell/command.h"

namespace kvorum::ctl {

Command SnapshotCommand();
Command ExportCommand();
Command ImportCommand();
Command DiffCommand();
Command TreeCommand();
Command DuCommand();

}  // namespace kvorum::ctl
