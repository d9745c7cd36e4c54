// The files of a TlsContext: detecting their changes, and parsing their content.
//
// A Watched belongs to the holder of the lock around it; the parsers are pure functions. Errors
// name the file and contain nothing of its content.
#pragma once

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/freed_by.h"

namespace kvorum::rpc {

using X509Ptr = std::unique_ptr<X509, FreedBy<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using SslCtxPtr = std::unique_ptr<SSL_CTX, FreedBy<SSL_CTX_free>>;

struct KeyPair {
  X509Ptr leaf;
  std::vector<X509Ptr> intermediates;
  KeyPtr key;
};
// Serial numbers as big-endian bytes without leading zeros.
using RevokedSerials = std::unordered_set<std::string>;

// The certificate and the key must match.
Result<KeyPair> ParseKeyPair(const std::string& certificate_pem, const std::string& key_pem,
                             const std::string& certificate_file, const std::string& key_file);
// Returns at least one certificate.
Result<std::vector<X509Ptr>> ParseAuthorities(const std::string& pem, const std::string& file);
// Expired lists are accepted too; `expired` reports them.
Result<RevokedSerials> ParseRevocations(const std::string& bytes, const std::string& file,
                                        bool* expired);
std::string SerialBytes(const ASN1_INTEGER* serial);
// For OpenSSL's readers of PEM: never asks the terminal.
inline int NoPassword(char*, int, int, void*) { return -1; }

// One or two files that are only valid together.
class Watched {
 public:
  using Contents = std::vector<std::string>;

  explicit Watched(std::vector<std::string> paths, const Clock& clock = SystemClock())
      : paths_(std::move(paths)), clock_(clock) {}
  const std::vector<std::string>& paths() const { return paths_; }

  // The number of bytes that Poll would read: nullopt if nothing has changed.
  std::optional<std::int64_t> BytesToRead() const;
  // Returns the contents if they differ from those of the last call (the first call always has
  // them), or the reason why they cannot be read, once. Costs a stat of each file when nothing has
  // changed. Files that were written a moment ago are read again the next time, since their time
  // stamp may not show later writes. So are those from the future, until they have been the same
  // for a while.
  std::optional<Result<Contents>> Poll();

 private:
  struct Stamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size_bytes = -1;  // -1: unknown
    std::int64_t modified_ns = 0;
    std::int64_t changed_ns = 0;  // changes with the above, and with a rename over the file
    friend bool operator==(const Stamp&, const Stamp&) = default;
  };
  static Stamp StampOf(const std::string& path);
  std::vector<Stamp> Stamps() const;

  const std::vector<std::string> paths_;
  const Clock& clock_;
  std::vector<Stamp> stamps_;
  TimePoint same_since_;  // stamps and contents
  bool settled_ = false;
  std::string digest_;  // of the contents that Poll returned last
};

}  // namespace kvorum::rpc
