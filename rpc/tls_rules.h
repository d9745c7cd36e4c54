// The rules for the other side's certificate chain, beside what OpenSSL checks by itself.
//
// Immutable once attached; an SSL_CTX keeps the rules it was given.
#pragma once

#include <openssl/ssl.h>

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "rpc/tls_files.h"

namespace kvorum::rpc {

// The serial numbers that are revoked now, for every context of the same files: a connection keeps
// its context for as long as it stands, and must not keep the lists of that time. Thread-safe.
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
  bool accepting = false;  // else dialling: which purpose the certificate must allow
  std::vector<std::string> allowed_cns;
  std::vector<std::string> allowed_hostnames;
  std::shared_ptr<const RevokedNow> revoked;
  std::string alpn;  // in wire format; empty: no ALPN
};

// From here on the context verifies by these rules and chooses among their protocols.
void AttachRules(SSL_CTX* context, std::unique_ptr<const TlsRules> rules);

// From here on whoever has signed a certificate is found among several anchors of one name: an
// authority that was rotated under its name, certificates that do not say which key has signed
// them.
void FindIssuersBySignature(X509_STORE* anchors);

// Where we dial: whom the certificate must be for. False if there is no memory for it. A connection
// that was not told believes nobody.
bool ExpectHost(SSL* ssl, const std::string& host);
// The leaf that the other side showed, believed or not; null if none.
X509* ShownCertificate(const SSL* ssl);

// Why our rules refused a certificate whose chain was good; empty if they did not. In Go's words,
// which are known to who reads logs of etcd.
std::string_view RefusalText(const SSL* ssl);

// The last common name, as Go takes it; empty without one.
std::string CommonName(const X509* certificate);
// The names of the SAN that are of DNS.
std::vector<std::string> DnsNames(const X509* certificate);
// The addresses of the SAN.
std::vector<std::string> IpAddresses(const X509* certificate);
// As Go's VerifyHostname: an address against the IP SANs, a name against the DNS SANs, whatever
// number of labels they have.
bool MatchesHost(X509* certificate, std::string host);
// True if the text is an IP address, which then has no brackets.
bool IsIpAddress(const std::string& host);

}  // namespace kvorum::rpc
