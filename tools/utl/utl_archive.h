// The commands of "archive", one function and file each.
#pragma once

#include "tools/shell/command.h"

namespace kvorum::utl {

ctl::Command ArchiveExportCommand();
ctl::Command ArchiveLsCommand();
ctl::Command ArchivePruneCommand();
ctl::Command ArchiveRestoreCommand();
ctl::Command ArchiveShowCommand();
ctl::Command ArchiveVerifyCommand();

}  // namespace kvorum::utl
