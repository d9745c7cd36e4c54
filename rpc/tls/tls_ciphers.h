// Limits the encryption of connections, by the cipher names that flags use.
//
// Pure functions.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "rpc/tls/tls_context.h"

namespace kvorum::rpc {

// OpenSSL's names for these TLS 1.2 suites, in its list format; the names are known ones. TLS 1.3's
// suites cannot be chosen, and suites that this OpenSSL lacks are left out: empty if nothing
// remains.
std::string TlsCipherList(const std::vector<std::string>& cipher_suites);

// Those of the names that are left out because this OpenSSL lacks them.
std::vector<std::string> UnavailableCiphers(const std::vector<std::string>& cipher_suites);

// The TLS 1.2 ciphers used unless the operator says otherwise: forward secrecy and authenticated
// encryption only.
inline constexpr char kStrongCiphers[] =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

}  // namespace kvorum::rpc
