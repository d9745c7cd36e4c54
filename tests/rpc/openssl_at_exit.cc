// For tests in which gRPC speaks TLS: its threads may outlive main(), and OpenSSL keeps generators
// of random numbers for each, freed as the thread ends. At exit OpenSSL would forget where they
// are, and the leak sanitizer, which looks after that, now and then finds them lost.
#include <openssl/crypto.h>

namespace {

[[maybe_unused]] const int kLeftAlone = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);

}  // namespace
