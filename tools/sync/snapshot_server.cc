#include "tools/sync/snapshot_server.h"

#include "tools/shell/command_groups.h"
#include "tools/sync/sync_commands.h"

namespace kvorum::ctl {

Command SnapshotServerCommand() {
  return {.use = "snapshot-server <subcommand>",
          .brief = "Sends the store's content to subscribers",
          .group = kSyncGroup,
          .children = {SnapshotServerRunCommand(), SnapshotServerSubscribeCommand(),
                       SnapshotServerStatusCommand()}};
}

}  // namespace kvorum::ctl
