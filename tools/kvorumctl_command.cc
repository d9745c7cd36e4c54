#include <ostream>

#include "base/go_quote.h"
#include "tools/commands.h"
#include "tools/help.h"
#include "tools/man_page.h"
#include "tools/session.h"

namespace kvorum::ctl {

Command VersionCommand() {
  return {.use = "version",
          .brief = "Prints the version of kvorumctl",
          .group = kUtilityGroup,
          .run = [](Invocation& invocation) -> Outcome<void> {
            // Scripts look for etcdctl's two lines, so these come first and unchanged.
            invocation.world.out << "etcdctl version: 3.7.1\n"
                                    "API version: 3.7\n"
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

Command HelpCommand() {
  return {.use = "help [command]",
          .brief = "Help about any command",
          .group = kUtilityGroup,
          .run = [](Invocation& invocation) -> Outcome<void> {
            const auto found = FindCommand(invocation.root, invocation.args);
            if (found) {
              invocation.world.out << HelpText(found->path);
              return {};
            }
            const Command* root = &invocation.root;
            invocation.world.err << "Unknown help topic " << GoQuote(invocation.args.front())
                                 << '\n'
                                 << UsageText({&root, 1});
            return {};
          }};
}

Command KvorumctlCommand() {
  return {.use = "kvorumctl",
          .brief = "A command line client for kvorum and etcd.",
          .inherited_flags = GlobalFlags(),
          .children = {GetCommand(),       PutCommand(),        DelCommand(),
                       TxnCommand(),       WatchCommand(),      CompactionCommand(),
                       LeaseCommand(),     AlarmCommand(),      DefragCommand(),
                       EndpointCommand(),  MemberCommand(),     MoveLeaderCommand(),
                       LockCommand(),      ElectCommand(),      AuthCommand(),
                       UserCommand(),      RoleCommand(),       CheckCommand(),
                       DowngradeCommand(), MakeMirrorCommand(), TreeCommand(),
                       DuCommand(),        DoctorCommand(),     TopCommand(),
                       ExportCommand(),    ImportCommand(),     DiffCommand(),
                       VersionCommand(),   CompletionCommand(), CompleteCommand(),
                       OptionsCommand(),   ManCommand(),        HelpCommand()},
          .group_order = {kKeyValueGroup, kClusterGroup, kConcurrencyGroup, kAuthenticationGroup,
                          kUtilityGroup}};
}

}  // namespace kvorum::ctl
