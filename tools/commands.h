// Every command of kvorumctl, one function and file per family.
#pragma once

#include "tools/command.h"

namespace kvorum::ctl {

// The titles under which the help lists the commands.
inline constexpr const char* kKeyValueGroup = "Key-value commands";
inline constexpr const char* kClusterGroup = "Cluster maintenance commands";
inline constexpr const char* kConcurrencyGroup = "Concurrency commands";
inline constexpr const char* kSyncGroup = "Agent commands";
inline constexpr const char* kAuthenticationGroup = "Authentication commands";
inline constexpr const char* kUtilityGroup = "Utility commands";

Command PutCommand();
Command GetCommand();
Command DelCommand();
Command TxnCommand();
Command WatchCommand();
Command CompactionCommand();
Command LeaseCommand();
Command LockCommand();
Command ElectCommand();
Command AgentCommand();
Command InformerCommand();
Command MirrorCommand();
Command CatalogCommand();
Command SnapshotServerCommand();
Command EndpointCommand();
Command AlarmCommand();
Command DefragCommand();
Command MemberCommand();
Command MemberReseedCommand();
Command MoveLeaderCommand();
Command SnapshotCommand();
Command DowngradeCommand();
Command AuthCommand();
Command UserCommand();
Command RoleCommand();
Command MakeMirrorCommand();
Command CheckCommand();
Command ExportCommand();
Command ImportCommand();
Command DiffCommand();
Command TreeCommand();
Command DuCommand();
Command DoctorCommand();
Command TopCommand();
Command VersionCommand();
Command OptionsCommand();

// The whole tree.
Command KvorumctlCommand();

}  // namespace kvorum::ctl
