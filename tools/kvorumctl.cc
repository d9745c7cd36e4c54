// kvorumctl: the command line client. See commands.h for its commands.
#include <google/protobuf/stubs/logging.h>
#include <openssl/crypto.h>
#include <stdlib.h>

#include "tools/ctl/commands.h"

int main(int argc, char** argv) {
  // The command reports errors, not the libraries underneath.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  google::protobuf::SetLogHandler(nullptr);
  // gRPC's threads may be in the middle of a handshake when the process ends, and need OpenSSL
  // until then.
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);
  return kvorum::ctl::Main(kvorum::ctl::KvorumctlCommand(), argc, argv);
}
