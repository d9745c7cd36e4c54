// For tests in which gRPC uses TLS: its threads may outlive main(), and OpenSSL keeps random number
// generators for each, freed as the thread ends. At exit OpenSSL would lose track of them, and the
// leak sanitizer, which checks after that, sometimes reports them.
#include <openssl/crypto.h>

namespace {

[[maybe_unused]] const int kLeftAlone = OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, nullptr);

}  // namespace
