#include "tools/snapshot_server.h"

#include "tools/commands.h"

namespace kvorum::ctl {

Command SnapshotServerCommand() {
  return {.use = "snapshot-server <subcommand>",
          .brief = "Sends subscribers what stands in the store",
          .group = kSyncGroup,
          .children = {SnapshotServerRunCommand(), SnapshotServerSubscribeCommand(),
                       SnapshotServerStatusCommand()}};
}

}  // namespace kvorum::ctl
