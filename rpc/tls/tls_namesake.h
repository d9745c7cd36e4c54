// Leaves with their authority's name. OpenSSL takes such a certificate for a self-signed one,
// unless it names the key that signed it, and refuses it without checking the signature. Go builds
// the chain by signatures, and certificates made by hand often have one subject for all.
#pragma once

#include <openssl/x509.h>

namespace kvorum::rpc {

bool IsInItsTime(const X509* certificate);

// After X509_verify_cert has refused: returns true if it did so for that reason alone, and an
// anchor of the leaf's name has signed the leaf. Then the checks that OpenSSL did not reach are
// made in the same way (times, extensions, the anchor's right to sign and its name constraints, the
// strength of keys and signature), and leaf and anchor are the verified chain.
bool IsSignedByNamesake(X509_STORE_CTX* store);

}  // namespace kvorum::rpc
