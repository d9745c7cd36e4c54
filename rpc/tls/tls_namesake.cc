#include "rpc/tls/tls_namesake.h"

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <initializer_list>

namespace kvorum::rpc {
namespace {

// The bits of security of SSL_CTX_set_security_level's levels.
int BitsOfLevel(int level) {
  constexpr int kBits[] = {0, 80, 112, 128, 192, 256};
  if (level <= 0) return 0;
  return kBits[level < 5 ? level : 5];
}

// False for extensions that cannot be read, unknown critical ones, and those of a proxy
// certificate.
bool HasSoundExtensions(X509* certificate) {
  return (X509_get_extension_flags(certificate) &
          (EXFLAG_INVALID | EXFLAG_CRITICAL | EXFLAG_PROXY)) == 0;
}

bool HasStrongKey(const X509* certificate, int bits) {
  const EVP_PKEY* const key = X509_get0_pubkey(certificate);
  return key != nullptr && EVP_PKEY_get_security_bits(key) >= bits;
}

bool HasStrongSignature(X509* certificate, int bits) {
  int signature_bits = 0;
  return X509_get_signature_info(certificate, nullptr, nullptr, &signature_bits, nullptr) == 1 &&
         signature_bits >= bits;
}

bool MaySignFor(X509* anchor, X509* leaf) {
  if (X509_check_ca(anchor) == 0) return false;
  auto* constraints = static_cast<NAME_CONSTRAINTS*>(
      X509_get_ext_d2i(anchor, NID_name_constraints, nullptr, nullptr));
  const bool is_allowed =
      constraints == nullptr || NAME_CONSTRAINTS_check(leaf, constraints) == X509_V_OK;
  NAME_CONSTRAINTS_free(constraints);
  return is_allowed;
}

bool HasSigned(X509* anchor, X509* leaf, int bits) {
  return X509_check_issued(anchor, leaf) == X509_V_OK && X509_cmp(anchor, leaf) != 0 &&
         IsInItsTime(anchor) && HasSoundExtensions(anchor) && HasStrongKey(anchor, bits) &&
         MaySignFor(anchor, leaf) && X509_verify(leaf, X509_get0_pubkey(anchor)) == 1;
}

bool SetChain(X509_STORE_CTX* store, X509* leaf, X509* anchor) {
  STACK_OF(X509)* chain = sk_X509_new_null();
  for (X509* const certificate : {leaf, anchor}) {
    if (chain == nullptr || X509_add_cert(chain, certificate, X509_ADD_FLAG_UP_REF) != 1) {
      sk_X509_pop_free(chain, X509_free);
      return false;
    }
  }
  X509_STORE_CTX_set0_verified_chain(store, chain);
  X509_STORE_CTX_set_error(store, X509_V_OK);
  X509_STORE_CTX_set_error_depth(store, 0);
  return true;
}

}  // namespace

bool IsInItsTime(const X509* certificate) {
  return X509_cmp_current_time(X509_get0_notBefore(certificate)) < 0 &&
         X509_cmp_current_time(X509_get0_notAfter(certificate)) > 0;
}

bool IsSignedByNamesake(X509_STORE_CTX* store) {
  if (X509_STORE_CTX_get_error(store) != X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT) return false;
  X509* const leaf = X509_STORE_CTX_get0_cert(store);
  const int bits = BitsOfLevel(X509_VERIFY_PARAM_get_auth_level(X509_STORE_CTX_get0_param(store)));
  if (!IsInItsTime(leaf) || !HasSoundExtensions(leaf) || !HasStrongKey(leaf, bits) ||
      !HasStrongSignature(leaf, bits))
    return false;
  ERR_set_mark();
  STACK_OF(X509)* named = X509_STORE_CTX_get1_certs(store, X509_get_issuer_name(leaf));
  bool found = false;
  for (int i = 0; !found && i < sk_X509_num(named); ++i) {
    X509* const anchor = sk_X509_value(named, i);
    found = HasSigned(anchor, leaf, bits) && SetChain(store, leaf, anchor);
  }
  sk_X509_pop_free(named, X509_free);
  ERR_pop_to_mark();
  return found;
}

}  // namespace kvorum::rpc
