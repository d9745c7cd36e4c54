// TLS from files, for both sides of a connection and both kinds of I/O (our own sockets, Asio's):
// certificates and keys, the CA, revocation lists, and the rules for who may connect.
//
// Every NewServer and NewClient first checks the files for changes and takes them over: the newest
// pair of matching certificate and key, the newest CA file, the newest readable list, each on its
// own. A file that cannot be used (half-written, key and certificate apart, gone) is logged once
// and its last good version stays in force. Existing connections are not touched.
//
// The rules, which are etcd's unless said otherwise:
// - A server requests a client certificate if `trusted_ca_file` is set or `client_cert_auth` is on,
//   and then requires one that chains to the CA file (any certificate in it is an anchor; without a
//   file, to the system's). Extended key usage must allow the purpose along the chain.
// - `allowed_cns`, `allowed_hostnames`: the leaf's common name is one of them, or a SAN matches one
//   of them (a wildcard in the SAN counts; the common name never does). On both sides.
// - A certificate whose serial number is in any list of the CRL file is refused, wherever it is in
//   the chain that was sent or built, with any issuer and age of the list: an expired list still
//   revokes (with a warning). On both sides; etcd checks only when it accepts.
// - The lowest version is TLS 1.2. A list of cipher suites limits TLS 1.2 only; without one, those
//   with forward secrecy and authenticated encryption are used.
// - No session is resumed, so no client evades a check by having passed it before. No
//   renegotiation, no compression, no early data.
//
// Thread-safe. NewServer and NewClient read files when these change. Large ones, such as a list of
// a hundred thousand revoked certificates (150 ms), are read by the loader executor if there is
// one. It checks once a second, so that a change counts within a second plus the time to read,
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
#include "base/task.h"

struct ssl_st;

namespace kvorum::rpc {

enum class TlsVersion : std::uint8_t { kAny, kTls12, kTls13 };

struct TlsOptions {
  // PEM: the leaf first, then intermediates. Empty: no certificate (a server needs one).
  std::string certificate_file;
  std::string key_file;
  // The pair used for dialling; empty: the pair above.
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
  // them is refused, except one that offers http/1.1 only, which goes on without.
  std::vector<std::string> alpn;
  // For dialling: the name to verify in the certificate instead of the host dialled.
  std::string server_name;
  // For dialling: accept any certificate (for certificates that the server made for itself).
  bool skip_server_verification = false;
};

// "TLS1.2", "TLS1.3", "" (kAny).
Result<TlsVersion> ParseTlsVersion(std::string_view text);
// Refuses unknown names, a range without versions, and a list that could have no effect, with
// etcd's texts. Part of TlsContext::Create; also for checking a command line earlier.
Result<void> CheckTlsLimits(TlsVersion min_version, TlsVersion max_version,
                            const std::vector<std::string>& cipher_suites);

struct SslDelete {
  void operator()(ssl_st* ssl) const;
};
using SslPtr = std::unique_ptr<ssl_st, SslDelete>;

// The holder's identity in a verified leaf.
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

  // Makes one object per connection, without a socket or BIO yet, in the accepting or the dialling
  // state. It keeps everything it needs alive. `host` is the dialled address or name.
  SslPtr NewServer();
  SslPtr NewClient(const std::string& host);

  // From now on `loader`, which outlives all calls of the two above, reads files of more than
  // kInlineBytes. Called at most once.
  void LoadLargeFilesOn(Executor& loader);
  static constexpr std::int64_t kInlineBytes = 64 * 1024;
  static constexpr Duration kLookInterval = std::chrono::seconds(1);

  const TlsOptions& options() const { return options_; }
  // The numbers of sets taken over after the first one, and of unusable ones.
  std::uint64_t reloads() const { return reloads_; }
  std::uint64_t failed_reloads() const { return failed_reloads_; }

 private:
  struct Contexts;
  struct Files;  // the files as last read, and the set in force

  explicit TlsContext(TlsOptions options);
  // Called under the lock of the files.
  void Refresh();
  // Has the loader read large files that have changed. Called under the lock of the files.
  void LoadSoon();
  // On the loader: now, and periodically.
  void Look();
  void Load();
  std::optional<Contexts> Poll();

  const TlsOptions options_;
  std::unique_ptr<Files> files_;
  std::atomic<std::uint64_t> reloads_{0};
  std::atomic<std::uint64_t> failed_reloads_{0};
};

// After the handshake: the identity that the other side has proved; nothing if it was not asked to.
std::optional<TlsIdentity> VerifiedIdentity(const ssl_st* ssl);
// The identity that the other side claims, verified or not; nothing if it showed no certificate.
std::optional<TlsIdentity> ShownIdentity(const ssl_st* ssl);
// True if the handshake failed because of the other side's certificate.
bool CertificateWasRefused(const ssl_st* ssl);
// The protocol that ALPN chose, empty if none.
std::string_view NegotiatedProtocol(const ssl_st* ssl);
// The name that the client asked for (SNI), empty if none.
std::string_view RequestedName(const ssl_st* ssl);
// The TlsErrorText for a client that showed no certificate where one is required.
inline constexpr std::string_view kNoCertificateError = "tls: client didn't provide a certificate";
// The reason why the last call on this thread failed: OpenSSL's and, for a refused certificate, the
// rule's. Empties the thread's error queue.
std::string TlsErrorText(const ssl_st* ssl);

}  // namespace kvorum::rpc
