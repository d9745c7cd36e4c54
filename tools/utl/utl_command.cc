#include <ostream>

#include "api/version.h"
#include "tools/session/printer.h"
#include "tools/shell/completion.h"
#include "tools/shell/help.h"
#include "tools/shell/man_page.h"
#include "tools/utl/utl_commands.h"

namespace kvorum::utl {
namespace {

using ctl::Command;
using ctl::Flag;
using ctl::FlagType;

std::vector<Flag> GlobalFlags() {
  return {{"timeout", FlagType::kDuration, "10s",
           "time to wait for a database that another process has open, 0 for no limit"},
          {"write-out", FlagType::kString, "simple",
           "set the output format (fields, json, protobuf, simple, table)", ctl::PrinterFormats(),
           'w'}};
}

constexpr ctl::ManText kKvorumutlManText = {
    .about = "works on the files of kvorum and etcd without a server",
    .description =
        R"(Reads and makes snapshots and data directories of members that do not run. Commands that
.BR etcdutl (1)
has take its flags and print what it prints.)",
    .end = R"(.SH "EXIT STATUS"
0 is success, 1 an error, 4 an unknown value of a flag, 128 wrong arguments.
.SH "SEE ALSO"
.BR kvorumctl (1),
.BR kvorum (8)
)"};

}  // namespace

Command VersionCommand() {
  return {.use = "version",
          .brief = "Prints the version of kvorumutl",
          .run = [](ctl::Invocation& invocation) -> ctl::Outcome<void> {
            // Scripts look for etcdutl's two lines, so these come first and unchanged.
            invocation.world.out << "etcdutl version: " << server::kApiVersion
                                 << "\nAPI version: 3.7\n"
                                    "kvorumutl version: " KVORUM_VERSION "\n";
            return {};
          }};
}

Command KvorumutlCommand() {
  return {
      .use = "kvorumutl",
      .brief = "Works on the files of kvorum and etcd without a server.",
      .inherited_flags = GlobalFlags(),
      .children = {AdoptCommand(), ArchiveCommand(), DefragCommand(), DumpCommand(),
                   MigrateCommand(), HashKvCommand(), ReleaseCommand(), SnapshotCommand(),
                   VerifyCommand(), VersionCommand(), ctl::CompletionCommand("kvorumutl"),
                   ctl::CompleteCommand(), ctl::ManCommand(kKvorumutlManText), ctl::HelpCommand()},
      .help_style = ctl::HelpStyle::kUsageAlone};
}

}  // namespace kvorum::utl
