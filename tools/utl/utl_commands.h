// Every command of kvorumutl, one function and file per family. A new one is a row here, one in
// KvorumutlCommand, one in the README's list, and a file.
#pragma once

#include "tools/shell/command.h"

namespace kvorum::utl {

ctl::Command AdoptCommand();
ctl::Command ArchiveCommand();
ctl::Command DefragCommand();
ctl::Command DumpCommand();
ctl::Command HashKvCommand();
ctl::Command MigrateCommand();
ctl::Command ReleaseCommand();
ctl::Command SnapshotCommand();
ctl::Command VerifyCommand();
ctl::Command VersionCommand();

// The whole tree.
ctl::Command KvorumutlCommand();

}  // namespace kvorum::utl
