// "archive": works on a cluster's continuous archive, in a folder or a bucket, without a server.
#include "tools/utl/utl_archive.h"

#include "tools/utl/utl_archive_store.h"
#include "tools/utl/utl_commands.h"

namespace kvorum::utl {

ctl::Command ArchiveCommand() {
  return {.use = "archive <subcommand>",
          .brief = "Lists, checks and restores a cluster's continuous archive",
          .inherited_flags = ArchiveStoreFlags(),
          .children = {ArchiveExportCommand(), ArchiveLsCommand(), ArchivePruneCommand(),
                       ArchiveRestoreCommand(), ArchiveShowCommand(), ArchiveVerifyCommand()}};
}

}  // namespace kvorum::utl
