#include <ostream>

#include "tools/commands.h"

namespace kvorum::ctl {
namespace {

// Scripts look for etcdctl's two lines, so these come first and unchanged.
Outcome<void> Run(Invocation& invocation) {
  invocation.world.out << "etcdctl version: 3.7.1\n"
                          "API version: 3.7\n"
                          "kvorumctl version: " KVORUM_VERSION "\n";
  return {};
}

}  // namespace

Command VersionCommand() {
  return {.use = "version",
          .brief = "Prints the version of kvorumctl",
          .group = kUtilityGroup,
          .run = Run};
}

}  // namespace kvorum::ctl
