// TLS from files, for both sides of a connection and both kinds of I/O (our own sockets, Asio's):
// certificates and keys, the CA, revocation lists, and the rules for who may connect.
//
// Every NewServer and NewClient looks at the files first and takes what has changed: the newest
// pair of certificate and key that fit each other, the newest CA file, the newest list that can be
// read, each on its own. What cannot be read (half-written, key and certificate apart, gone) is
// logged once and the last good one stays in force. Connections that stand are not touched.
//
// The rules, which are etcd's unless said otherwise:
// - A server asks for a client certificate if `trusted_ca_file` is set or `client_cert_auth` is on,
//   and then requires one that chains to the CA file (any certificate in it is an anchor; without a
//   file, to the system's). Extended key usage must allow the purpose along the chain.
// - `allowed_cns`, `allowed_hostnames`: the leaf's common name is one of them, or a SAN matches one
//   of them (a wildcard in the SAN counts; the common name never does). On both sides.
// - A certificate whose serial number is in any list of the CRL file is refused, wherever it stands
//   in the chain that was sent or built, whoever issued the list and however old it is: a list that
//   has expired still revokes (a warning tells of it). On both sides; etcd looks when it accepts.
// - The lowest version is TLS 1.2. A list of cipher suites limits TLS 1.2 only; without one, those
//   with forward secrecy and authenticated encryption.
// - No session is resumed, so nobody gets around a check by having passed it before. No
//   renegotiation, no compression, no early data.
//
// Thread-safe. NewServer and NewClient read files when these change; large ones, such as a list of
// a hundred thousand revoked certificates (150 ms), are read by the executor for that if there is
// one. It looks once a second, so that a change counts a second and the time for reading later,
// whether anybody connects or not. Key material is never logged and never part of an error.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/executor.h"

struct ssl_st;

namespace kvorum::rpc {

enum class TlsVersion : std::uint8_t { kAny, kTls12, kTls13 };

struct TlsOptions {
  // PEM: the leaf first, then intermediates. Empty: no certificate (a server needs one).
  std::string certificate_file;
  std::string key_file;
  // What to show where we dial; empty: the pair above.
  std::string client_certificate_file;
  std::string client_key_file;
  std::string trusted_ca_file;
  std::string crl_file;  // PEM with one or more lists, or one list in DER
  bool client_cert_auth = false;
  std::vector<std::string> allowed_cns;        // empty: any
  std::vector<std::string> allowed_hostnames;  // empty: any; not together with allowed_cns
  TlsVersion min_version = TlsVersion::kAny;   // kAny: TLS 1.2
  TlsVersion max_version = TlsVersion::kAny;
  std::vector<std::string> cipher_suites;  // IANA names; empty: strong ones
  // Protocols in the order of our preference; empty: no ALPN. As in Go, a client that knows none of
  // them is refused, but for one that offers http/1.1 only: it goes on without.
  std::vector<std::string> alpn;
  // Where we dial: the name to look for in the certificate instead of the host dialled.
  std::string server_name;
  // Where we dial: believe any certificate (for certificates that the server made for itself).
  bool skip_server_verification = false;
};

// "TLS1.2", "TLS1.3", "" (kAny).
Result<TlsVersion> ParseTlsVersion(std::string_view text);
// Refuses unknown names, a range without versions, and a list that could have no effect: the texts
// are etcd's. Part of TlsContext::Create; for a command line that is checked before it.
Result<void> CheckTlsLimits(TlsVersion min_version, TlsVersion max_version,
                            const std::vector<std::string>& cipher_suites);

struct SslDelete {
  void operator()(ssl_st* ssl) const;
};
using SslPtr = std::unique_ptr<ssl_st, SslDelete>;

// What a verified leaf says of its holder.
struct TlsIdentity {
  std::string common_name;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;  // "10.0.0.1", "::1"
};

class TlsContext : public std::enable_shared_from_this<TlsContext> {
 public:
  // Loads everything once. Errors name the file and read like Go's where it has a text.
  static Result<std::shared_ptr<TlsContext>> Create(TlsOptions options);
  ~TlsContext();
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;

  // One object per connection, without a socket or BIO yet, in the accepting or the dialling state.
  // It keeps what it needs alive. `host` is what was dialled: an address or a name.
  SslPtr NewServer();
  SslPtr NewClient(const std::string& host);

  // From now on files of more than kInlineBytes are read by `loader`, which outlives all calls of
  // the two above. Called once at most.
  void LoadLargeFilesOn(Executor& loader);
  static constexpr std::int64_t kInlineBytes = 64 * 1024;
  static constexpr Duration kLookInterval = std::chrono::seconds(1);

  const TlsOptions& options() const { return options_; }
  // Sets of files that were taken after the first ones, and those that were not good.
  std::uint64_t reloads() const { return reloads_; }
  std::uint64_t failed_reloads() const { return failed_reloads_; }

 private:
  struct Contexts;
  struct Files;  // what was read last, and what is in force

  explicit TlsContext(TlsOptions options);
  // Under the lock of the files.
  void Refresh();
  // Large files that have changed are to be read by the loader. Under the lock of the files.
  void LoadSoon();
  // On the loader: now, and again and again.
  void Look();
  void Load();
  std::optional<Contexts> Poll();

  const TlsOptions options_;
  std::unique_ptr<Files> files_;
  std::atomic<std::uint64_t> reloads_{0};
  std::atomic<std::uint64_t> failed_reloads_{0};
};

// After the handshake: who the other side has proved to be, nothing if it was not asked to.
std::optional<TlsIdentity> VerifiedIdentity(const ssl_st* ssl);
// Who the other side says it is, believed or not; nothing if it showed no certificate.
std::optional<TlsIdentity> ShownIdentity(const ssl_st* ssl);
// True if the handshake failed for the other side's certificate.
bool CertificateWasRefused(const ssl_st* ssl);
// The protocol that ALPN chose, empty if none.
std::string_view NegotiatedProtocol(const ssl_st* ssl);
// The name that the client asked for (SNI), empty if none.
std::string_view RequestedName(const ssl_st* ssl);
// TlsErrorText of a client that showed no certificate where one is asked for.
inline constexpr std::string_view kNoCertificateError = "tls: client didn't provide a certificate";
// Why the call that just failed on this thread did: what OpenSSL says and, for a certificate that
// was refused, why. Empties the thread's queue of errors.
std::string TlsErrorText(const ssl_st* ssl);

}  // namespace kvorum::rpc
