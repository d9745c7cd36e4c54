// kvorumutl: works on the files of a member that does not run, and on snapshots. See utl_commands.h
// for its commands.
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "tools/utl/utl_commands.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);
  const std::vector<std::string> line(argv + 1, argv + argc);
  kvorum::ctl::World world{.in = std::cin,
                           .out = std::cout,
                           .err = std::cerr,
                           .environment = {},
                           .out_is_terminal = isatty(STDOUT_FILENO) == 1,
                           .err_is_terminal = isatty(STDERR_FILENO) == 1};
  for (char** variable = environ; *variable != nullptr; ++variable)
    world.environment.emplace_back(*variable);
  return kvorum::ctl::Execute(kvorum::utl::KvorumutlCommand(), line, world);
}
