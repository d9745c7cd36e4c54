// The commands of the agent, the informer, the catalog and the snapshot server.
#pragma once

#include "tools/shell/command.h"

namespace kvorum::ctl {

Command AgentCommand();
Command InformerCommand();
Command CatalogCommand();
Command SnapshotServerCommand();

}  // namespace kvorum::ctl
