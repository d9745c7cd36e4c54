// The limits of what a connection may be encrypted with, from the names that flags use.
//
// Pure functions.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "rpc/tls_context.h"

namespace kvorum::rpc {

// What OpenSSL calls these suites of TLS 1.2, in its list format; the names are known ones. Those
// of TLS 1.3 cannot be chosen, and suites that this OpenSSL is built without are left out: empty if
// nothing remains.
std::string TlsCipherList(const std::vector<std::string>& cipher_suites);

// Those of the names that are left out since this OpenSSL has them not.
std::vector<std::string> UnavailableCiphers(const std::vector<std::string>& cipher_suites);

// "TLSv1.2" ciphers that are used unless the operator says otherwise: forward secrecy and
// authenticated encryption only.
inline constexpr char kStrongCiphers[] =
    "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
    "ECDHE-RSA-AES256-GCM-SHA384:ECDHE-ECDSA-CHACHA20-POLY1305:ECDHE-RSA-CHACHA20-POLY1305";

}  // namespace kvorum::rpc
