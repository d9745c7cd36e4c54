#include "rpc/tls/tls_rules.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/letter_case.h"
#include "rpc/tls/tls_namesake.h"

namespace kvorum::rpc {
namespace {

void FreeRules(void*, void* rules, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<const TlsRules*>(rules);
}

int RulesIndex() {
  static const int index = SSL_CTX_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeRules);
  return index;
}

void FreeHost(void*, void* host, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<const std::string*>(host);
}

int HostIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeHost);
  return index;
}

// A refused certificate: OpenSSL keeps only accepted ones.
struct RefusedCertificate {
  X509Ptr leaf;
  std::string why;  // empty: OpenSSL has a text
};

void FreeRefused(void*, void* refused, CRYPTO_EX_DATA*, int, long, void*) {
  delete static_cast<const RefusedCertificate*>(refused);
}

int RefusedIndex() {
  static const int index = SSL_get_ex_new_index(0, nullptr, nullptr, nullptr, FreeRefused);
  return index;
}

const RefusedCertificate* RefusedOf(const SSL* ssl) {
  return static_cast<const RefusedCertificate*>(SSL_get_ex_data(ssl, RefusedIndex()));
}

std::vector<std::string_view> Labels(std::string_view name) {
  std::vector<std::string_view> labels;
  while (true) {
    const std::size_t dot = name.find('.');
    labels.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return labels;
    name.remove_prefix(dot + 1);
  }
}

// The characters of DNS names, and the underscore, which many have.
bool IsLabel(std::string_view label) {
  return !label.empty() && label.front() != '-' && std::ranges::all_of(label, [](char byte) {
    return (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') || byte == '-' ||
           byte == '_';
  });
}

// Both in lower case. A name of the certificate matches itself, with any characters; with "*"
// as its first label it matches all names that have another label there.
bool MatchesName(std::string_view pattern, std::string_view host) {
  if (pattern == host) return !host.empty() && host != "." && host != "*";
  if (host.ends_with('.')) host.remove_suffix(1);
  const std::vector<std::string_view> wanted = Labels(pattern);
  const std::vector<std::string_view> labels = Labels(host);
  if (wanted.size() != labels.size() || !std::ranges::all_of(labels, IsLabel)) return false;
  const bool is_wild = wanted.size() > 1 && wanted.front() == "*";
  return std::equal(wanted.begin() + (is_wild ? 1 : 0), wanted.end(),
                    labels.begin() + (is_wild ? 1 : 0));
}

// A certificate without the extension allows every purpose; every certificate in the chain must
// allow it.
bool AllowsPurpose(const STACK_OF(X509) * chain, bool client) {
  for (int i = 0; i < sk_X509_num(chain); ++i) {
    const std::uint32_t usage = X509_get_extended_key_usage(sk_X509_value(chain, i));
    if (usage == UINT32_MAX) continue;
    if ((usage & (XKU_ANYEKU | (client ? XKU_SSL_CLIENT : XKU_SSL_SERVER))) == 0) return false;
  }
  return true;
}

bool IsRevoked(const RevokedSerials& revoked, const X509* certificate) {
  return revoked.contains(SerialBytes(X509_get0_serialNumber(certificate)));
}

// Covers everything that was sent, and the chain that was built. The anchor is the operator's
// choice.
bool AnyRevoked(const RevokedSerials& revoked, X509_STORE_CTX* store) {
  if (IsRevoked(revoked, X509_STORE_CTX_get0_cert(store))) return true;
  const STACK_OF(X509)* sent = X509_STORE_CTX_get0_untrusted(store);
  for (int i = 0; i < sk_X509_num(sent); ++i) {
    if (IsRevoked(revoked, sk_X509_value(sent, i))) return true;
  }
  const STACK_OF(X509)* chain = X509_STORE_CTX_get0_chain(store);
  for (int i = 0; i + 1 < sk_X509_num(chain); ++i) {
    if (IsRevoked(revoked, sk_X509_value(chain, i))) return true;
  }
  return false;
}

bool IsAllowed(const TlsRules& rules, X509* leaf) {
  if (!rules.allowed_cns.empty() &&
      std::ranges::find(rules.allowed_cns, CommonName(leaf)) == rules.allowed_cns.end()) {
    return false;
  }
  return rules.allowed_hostnames.empty() ||
         std::ranges::any_of(rules.allowed_hostnames,
                             [leaf](const std::string& name) { return MatchesHost(leaf, name); });
}

const std::string* ExpectedHost(const SSL* ssl) {
  return static_cast<const std::string*>(SSL_get_ex_data(ssl, HostIndex()));
}

// The text for a certificate that is not for the host it has to be for.
std::string WrongHost(const X509* leaf, const std::string* host) {
  constexpr std::size_t kMaxNames = 100;
  if (host == nullptr) return "tls: no host name to verify the certificate for";
  const bool is_address = IsIpAddress(*host);
  const std::vector<std::string> names = is_address ? IpAddresses(leaf) : DnsNames(leaf);
  std::string text = "tls: failed to verify certificate: x509: ";
  if (X509_get_ext_by_NID(leaf, NID_subject_alt_name, -1) < 0 &&
      MatchesName(LowerCase(CommonName(leaf)), LowerCase(*host)))
    return text + "certificate relies on legacy Common Name field, use SANs instead";
  if (names.empty() && is_address)
    return text + "cannot validate certificate for " + *host +
           " because it doesn't contain any IP SANs";
  if (names.empty())
    return text + "certificate is not valid for any names, but wanted to match " + *host;
  text += "certificate is valid for ";
  if (names.size() >= kMaxNames) {
    return text + std::to_string(names.size()) + (is_address ? " IP SANs" : " names") +
           ", but none matched " + *host;
  }
  for (std::size_t i = 0; i < names.size(); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return text + ", not " + *host;
}

void KeepRefused(SSL* ssl, X509* leaf, std::string why) {
  if (leaf == nullptr || RefusedOf(ssl) != nullptr) return;
  X509_up_ref(leaf);
  auto refused = std::make_unique<const RefusedCertificate>(
      RefusedCertificate{.leaf = X509Ptr(leaf), .why = std::move(why)});
  if (SSL_set_ex_data(ssl, RefusedIndex(), const_cast<RefusedCertificate*>(refused.get())) == 1)
    refused.release();
}

// `why` is set if OpenSSL has no text for it.
int CheckChain(const TlsRules& rules, X509_STORE_CTX* store, const SSL* ssl, std::string& why) {
  // Otherwise a name constraint of the authority would also apply to the common name, which is no
  // host name.
  X509_VERIFY_PARAM_set_hostflags(X509_STORE_CTX_get0_param(store),
                                  X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
  const int verified = X509_verify_cert(store);
  if (verified != 1 && (verified < 0 || !IsSignedByNamesake(store))) return verified;
  const RevokedNow::Serials revoked = rules.revoked->Get();
  X509* const leaf = X509_STORE_CTX_get0_cert(store);
  int error = X509_V_OK;
  if (!AllowsPurpose(X509_STORE_CTX_get0_chain(store), rules.accepting)) {
    error = X509_V_ERR_INVALID_PURPOSE;
  } else if (revoked != nullptr && AnyRevoked(*revoked, store)) {
    error = X509_V_ERR_CERT_REVOKED;
  } else if (!IsAllowed(rules, leaf)) {
    error = X509_V_ERR_HOSTNAME_MISMATCH;
    why = "client certificate authentication failed";  // the same when accepting and dialling
  } else if (const std::string* const host = ExpectedHost(ssl);
             !rules.accepting && (host == nullptr || !MatchesHost(leaf, *host))) {
    error = X509_V_ERR_HOSTNAME_MISMATCH;
    why = WrongHost(leaf, host);
  }
  if (error == X509_V_OK) return 1;
  X509_STORE_CTX_set_error(store, error);
  return 0;
}

int Verify(X509_STORE_CTX* store, void* argument) {
  auto* ssl =
      static_cast<SSL*>(X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  std::string why;
  const int outcome = CheckChain(*static_cast<const TlsRules*>(argument), store, ssl, why);
  if (outcome != 1) KeepRefused(ssl, X509_STORE_CTX_get0_cert(store), std::move(why));
  return outcome;
}

// OpenSSL would take the first of several anchors of the issuer's name, whether it has signed the
// certificate or not.
int FindIssuer(X509** issuer, X509_STORE_CTX* context, X509* certificate) {
  STACK_OF(X509)* named = X509_STORE_CTX_get1_certs(context, X509_get_issuer_name(certificate));
  X509* found = nullptr;
  for (int i = 0; sk_X509_num(named) > 1 && i < sk_X509_num(named); ++i) {
    X509* const candidate = sk_X509_value(named, i);
    if (found != nullptr && !IsInItsTime(candidate)) continue;
    ERR_set_mark();
    const bool has_signed = X509_check_issued(candidate, certificate) == X509_V_OK &&
                            X509_verify(certificate, X509_get0_pubkey(candidate)) == 1;
    ERR_pop_to_mark();
    if (!has_signed) continue;
    found = candidate;
    if (IsInItsTime(found)) break;
  }
  if (found != nullptr) X509_up_ref(found);
  sk_X509_pop_free(named, X509_free);
  if (found == nullptr) return X509_STORE_CTX_get1_issuer(issuer, context, certificate);
  *issuer = found;
  return 1;
}

int ChooseProtocol(SSL*, const unsigned char** chosen, unsigned char* chosen_size,
                   const unsigned char* offered, unsigned offered_size, void* argument) {
  const std::string& ours = static_cast<const TlsRules*>(argument)->alpn;
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(
          &found, chosen_size, reinterpret_cast<const unsigned char*>(ours.data()),
          static_cast<unsigned>(ours.size()), offered, offered_size) == OPENSSL_NPN_NEGOTIATED) {
    *chosen = found;
    return SSL_TLSEXT_ERR_OK;
  }
  constexpr std::string_view kHttp1Only("\x08http/1.1");
  const std::string_view all(reinterpret_cast<const char*>(offered), offered_size);
  return all == kHttp1Only ? SSL_TLSEXT_ERR_NOACK : SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Visits the bytes of the subject's alternative names of a type, GEN_DNS or GEN_IPADD.
template <class Visit>
void ForEachAltName(const X509* certificate, int type, const Visit& visit) {
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type != type) continue;
    const ASN1_STRING* const value = type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
    visit(std::string_view(reinterpret_cast<const char*>(ASN1_STRING_get0_data(value)),
                           static_cast<std::size_t>(ASN1_STRING_length(value))));
  }
  GENERAL_NAMES_free(names);
}

}  // namespace

void AttachRules(SSL_CTX* context, std::unique_ptr<const TlsRules> rules) {
  auto* attached = const_cast<TlsRules*>(rules.release());
  KV_CHECK(SSL_CTX_set_ex_data(context, RulesIndex(), attached) == 1,
           "OpenSSL takes no data of ours");
  SSL_CTX_set_cert_verify_callback(context, Verify, attached);
  if (attached->alpn.empty()) return;
  if (attached->accepting) {
    SSL_CTX_set_alpn_select_cb(context, ChooseProtocol, attached);
  } else {
    SSL_CTX_set_alpn_protos(context, reinterpret_cast<const unsigned char*>(attached->alpn.data()),
                            static_cast<unsigned>(attached->alpn.size()));
  }
}

void FindIssuersBySignature(X509_STORE* anchors) { X509_STORE_set_get_issuer(anchors, FindIssuer); }

std::string CommonName(const X509* certificate) {
  const X509_NAME* subject = X509_get_subject_name(certificate);
  int last = -1;
  while (true) {
    const int next = X509_NAME_get_index_by_NID(subject, NID_commonName, last);
    if (next < 0) break;
    last = next;
  }
  if (last < 0) return {};
  unsigned char* text = nullptr;
  const int size =
      ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, last)));
  if (size < 0) return {};
  std::string name(reinterpret_cast<const char*>(text), static_cast<std::size_t>(size));
  OPENSSL_free(text);
  return name;
}

bool IsIpAddress(const std::string& host) {
  in6_addr address{};
  return inet_pton(AF_INET, host.c_str(), &address) == 1 ||
         inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

bool ExpectHost(SSL* ssl, const std::string& host) {
  auto expected = std::make_unique<const std::string>(host);
  if (SSL_set_ex_data(ssl, HostIndex(), const_cast<std::string*>(expected.get())) != 1)
    return false;
  expected.release();
  return true;
}

X509* ShownCertificate(const SSL* ssl) {
  X509* believed = SSL_get0_peer_certificate(ssl);
  if (believed != nullptr) return believed;
  const RefusedCertificate* const refused = RefusedOf(ssl);
  return refused == nullptr ? nullptr : refused->leaf.get();
}

std::string_view RefusalText(const SSL* ssl) {
  const RefusedCertificate* const refused = RefusedOf(ssl);
  return refused == nullptr ? std::string_view() : std::string_view(refused->why);
}

std::vector<std::string> DnsNames(const X509* certificate) {
  std::vector<std::string> found;
  ForEachAltName(certificate, GEN_DNS,
                 [&found](std::string_view name) { found.emplace_back(name); });
  return found;
}

std::vector<std::string> IpAddresses(const X509* certificate) {
  std::vector<std::string> found;
  ForEachAltName(certificate, GEN_IPADD, [&found](std::string_view bytes) {
    const int family = bytes.size() == sizeof(in_addr)    ? AF_INET
                       : bytes.size() == sizeof(in6_addr) ? AF_INET6
                                                          : AF_UNSPEC;
    char text[INET6_ADDRSTRLEN];
    if (inet_ntop(family, bytes.data(), text, sizeof(text)) != nullptr) found.emplace_back(text);
  });
  return found;
}

bool MatchesHost(X509* certificate, std::string host) {
  std::string address = host;
  if (host.size() > 2 && host.starts_with('[') && host.ends_with(']'))
    address = host.substr(1, host.size() - 2);
  if (IsIpAddress(address)) return X509_check_ip_asc(certificate, address.c_str(), 0) == 1;
  host = LowerCase(std::move(host));
  return std::ranges::any_of(DnsNames(certificate), [&host](const std::string& name) {
    return MatchesName(LowerCase(name), host);
  });
}

}  // namespace kvorum::rpc
