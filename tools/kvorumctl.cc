// kvorumctl: the command line client. See commands.h for its commands.
#include <google/protobuf/stubs/logging.h>
#include <openssl/crypto.h>
#include <stdlib.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "tools/ctl/commands.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  // The command reports errors, not the libraries underneath.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  google::protobuf::SetLogHandler(nullptr);
  // gRPC's threads may be in the middle of a handshake when the process ends, and need OpenSSL
  // until then.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  const std::vector<std::string> line(argv + 1, argv + argc);
  kvorum::ctl::World world{.in = std::cin,
                           .out = std::cout,
                           .err = std::cerr,
                           .environment = {},
                           .out_is_terminal = isatty(STDOUT_FILENO) == 1,
                           .err_is_terminal = isatty(STDERR_FILENO) == 1};
  for (char** variable = environ; *variable != nullptr; ++variable)
    world.environment.emplace_back(*variable);
  return kvorum::ctl::Execute(kvorum::ctl::KvorumctlCommand(), line, world);
}
