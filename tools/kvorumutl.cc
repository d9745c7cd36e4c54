// kvorumutl: works on the files of a member that does not run, and on snapshots. See utl_commands.h
// for its commands.
#include "tools/utl/utl_commands.h"

int main(int argc, char** argv) {
  return kvorum::ctl::Main(kvorum::utl::KvorumutlCommand(), argc, argv);
}
