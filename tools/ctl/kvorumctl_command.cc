#include <ostream>

#include "api/version.h"
#include "tools/carry/carry_commands.h"
#include "tools/ctl/commands.h"
#include "tools/health/health_commands.h"
#include "tools/mirror/mirror_commands.h"
#include "tools/session/session.h"
#include "tools/shell/command_groups.h"
#include "tools/shell/completion.h"
#include "tools/shell/help.h"
#include "tools/shell/man_page.h"
#include "tools/sync/sync_commands.h"

namespace kvorum::ctl {
namespace {

Command InUtilityGroup(Command command) {
  command.group = kUtilityGroup;
  return command;
}

constexpr ManText kKvorumctlManText = {
    .about = "command line client of kvorum and etcd",
    .description = R"(Asks and changes a cluster that speaks the v3 API of etcd. Commands that
.BR etcdctl (1)
has take its flags and print what it prints.)",
    .end = R"(.SH ENVIRONMENT
Each global flag may be given as a variable: ETCDCTL_ and its name in capitals, with _ for \-, as in
ETCDCTL_ENDPOINTS. A flag and its variable together are refused.
.TP
NO_COLOR
If it is not empty, there are no colours, as with \-\-no\-color. They appear on terminals only.
.SH "EXIT STATUS"
0 is success, 1 an error of the server or the connection, 2 a connection that could not be made, 3 input
that can't be read, 4 an unknown value of a flag, 5 an interruption, 128 wrong arguments.
.BR diff ,
.B doctor
and
.BR "endpoint health" ,
as described there, use 1 and 2 for what they find.
.SH "SEE ALSO"
.BR kvorumutl (1),
.BR kvorum (8)
)"};

}  // namespace

Command VersionCommand() {
  return {.use = "version",
          .brief = "Prints the version of kvorumctl",
          .group = kUtilityGroup,
          .run = [](Invocation& invocation) -> Outcome<void> {
            // Scripts look for etcdctl's two lines, so these come first and unchanged.
            invocation.world.out << "etcdctl version: " << server::kApiVersion
                                 << "\nAPI version: 3.7\n"
                                    "kvorumctl version: " KVORUM_VERSION "\n";
            return {};
          }};
}

Command OptionsCommand() {
  return {.use = "options",
          .brief = "Show the global command-line flags",
          .group = kUtilityGroup,
          .run = [](Invocation& invocation) -> Outcome<void> {
            invocation.world.out << "The following options can be passed to any command:\n\n"
                                 << FlagLines(invocation.root.inherited_flags, HiddenFlags::kShow);
            return {};
          }};
}

Command KvorumctlCommand() {
  return {.use = "kvorumctl",
          .brief = "A command line client for kvorum and etcd.",
          .inherited_flags = GlobalFlags(),
          .children = {GetCommand(),
                       PutCommand(),
                       DelCommand(),
                       TxnCommand(),
                       WatchCommand(),
                       CompactionCommand(),
                       LeaseCommand(),
                       AlarmCommand(),
                       DefragCommand(),
                       EndpointCommand(),
                       MemberCommand(),
                       MoveLeaderCommand(),
                       LockCommand(),
                       ElectCommand(),
                       AgentCommand(),
                       CatalogCommand(),
                       InformerCommand(),
                       MirrorCommand(),
                       SnapshotServerCommand(),
                       AuthCommand(),
                       UserCommand(),
                       RoleCommand(),
                       CheckCommand(),
                       DowngradeCommand(),
                       SnapshotCommand(),
                       MakeMirrorCommand(),
                       TreeCommand(),
                       DuCommand(),
                       DoctorCommand(),
                       TopCommand(),
                       ExportCommand(),
                       ImportCommand(),
                       DiffCommand(),
                       VersionCommand(),
                       InUtilityGroup(CompletionCommand("kvorumctl")),
                       CompleteCommand(),
                       OptionsCommand(),
                       ManCommand(kKvorumctlManText),
                       InUtilityGroup(HelpCommand())},
          .group_order = {kKeyValueGroup, kClusterGroup, kConcurrencyGroup, kSyncGroup,
                          kAuthenticationGroup, kUtilityGroup}};
}

}  // namespace kvorum::ctl
