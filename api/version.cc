#include "api/version.h"

#include <sys/utsname.h>

namespace kvorum::server {

#ifndef KVORUM_VERSION
#define KVORUM_VERSION "unknown"
#endif
#ifndef KVORUM_GIT_REVISION
#define KVORUM_GIT_REVISION "unknown"
#endif

std::string VersionText() {
  utsname machine{};
  uname(&machine);
  return "etcd Version: " + std::string(kApiVersion) +
         "\nkvorum Version: " KVORUM_VERSION "\nGit SHA: " KVORUM_GIT_REVISION
         "\nCompiler: GCC " __VERSION__ "\nOS/Arch: " +
         std::string(machine.sysname) + "/" + machine.machine + "\n";
}

}  // namespace kvorum::server
