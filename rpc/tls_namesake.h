// Leaves that bear their authority's name. OpenSSL takes such a certificate for a self-signed one,
// unless it says which key has signed it, and refuses it without a look at the signature; Go builds
// the chain by signatures, and certificates made by hand often have one subject for all.
#pragma once

#include <openssl/x509.h>

namespace kvorum::rpc {

bool IsInItsTime(const X509* certificate);

// After X509_verify_cert has refused: whether it did for that reason alone, and an anchor of the
// leaf's name has signed it. Then what OpenSSL has not come to check any more is checked as it does
// (times, extensions, the anchor's right to sign and its name constraints, the strength of keys and
// signature), and leaf and anchor are the verified chain.
bool IsSignedByNamesake(X509_STORE_CTX* store);

}  // namespace kvorum::rpc
