// The commands of kvorumctl that speak to a cluster as etcdctl's do, and the whole tree of
// commands.
#pragma once

#include "tools/shell/command.h"

namespace kvorum::ctl {

Command PutCommand();
Command GetCommand();
Command DelCommand();
Command TxnCommand();
Command WatchCommand();
Command CompactionCommand();
Command LeaseCommand();
Command LockCommand();
Command ElectCommand();
Command EndpointCommand();
Command AlarmCommand();
Command DefragCommand();
Command MemberCommand();
Command MemberReseedCommand();
Command MoveLeaderCommand();
Command DowngradeCommand();
Command AuthCommand();
Command UserCommand();
Command RoleCommand();
Command VersionCommand();
Command OptionsCommand();

// The whole tree.
Command KvorumctlCommand();

}  // namespace kvorum::ctl
