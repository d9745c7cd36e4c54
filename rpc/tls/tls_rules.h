// Rules for the other side's certificate chain, in addition to OpenSSL's own checks.
//
// Immutable once attached; an SSL_CTX keeps the rules it was given.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/tls/tls_files.h"

namespace kvorum::rpc {

// The serial numbers that are revoked now, for every context of the same files: a connection keeps
// its context for as long as it exists, and must not keep the lists of that time. Thread-safe.
class RevokedNow {
 public:
  using Serials = std::shared_ptr<const RevokedSerials>;  // null: no list

  void Set(Serials serials) {
    std::lock_guard lock(mutex_);
    serials_.swap(serials);
  }
  Serials Get() const {
    std::lock_guard lock(mutex_);
    return serials_;
  }

 private:
  mutable std::mutex mutex_;
  Serials serials_;
};

struct TlsRules {
  bool accepting = false;  // false: dialling. Decides the purpose that the certificate must allow
  std::vector<std::string> allowed_cns;
  std::vector<std::string> allowed_hostnames;
  std::shared_ptr<const RevokedNow> revoked;
  std::string alpn;  // in wire format; empty: no ALPN
};

// From here on the context verifies by these rules and chooses among their protocols.
void AttachRules(SSL_CTX* context, std::unique_ptr<const TlsRules> rules);

// From here on the issuer is found by its signature among several anchors of one name: an authority
// that was rotated under its name, certificates that do not name the key that signed them.
void FindIssuersBySignature(X509_STORE* anchors);

// For dialling: the host that the certificate must be for. False if out of memory. A connection
// without an expected host accepts no peer.
bool ExpectHost(SSL* ssl, const std::string& host);
// The leaf that the other side showed, verified or not; null if none.
X509* ShownCertificate(const SSL* ssl);

// The reason why our rules refused a certificate whose chain was good, in Go's words, which readers
// of etcd's logs know; empty if they did not.
std::string_view RefusalText(const SSL* ssl);

// The last common name, as Go takes it; empty without one.
std::string CommonName(const X509* certificate);
// The DNS names of the SAN.
std::vector<std::string> DnsNames(const X509* certificate);
// The IP addresses of the SAN.
std::vector<std::string> IpAddresses(const X509* certificate);
// Like Go's VerifyHostname: an address against the IP SANs, a name against the DNS SANs, with any
// number of labels.
bool MatchesHost(X509* certificate, std::string host);
// True if the text is an IP address, which then has no brackets.
bool IsIpAddress(const std::string& host);

}  // namespace kvorum::rpc
