// A self-signed certificate, to encrypt traffic before anybody has made certificates (--auto-tls,
// --peer-auto-tls): an ECDSA key on P-256, valid for servers and clients, and its own authority, so
// that it may be in a client's list of trusted ones.
//
// Pure except for OpenSSL's random numbers. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace kvorum::rpc {

struct SelfSigned {
  std::string certificate_pem;
  std::string key_pem;
};

// `hosts` are addresses and DNS names; times are Unix seconds.
Result<SelfSigned> MakeSelfSigned(const std::vector<std::string>& hosts, std::int64_t not_before_s,
                                  std::int64_t not_after_s);

// The end of validity of the first certificate in a PEM text, in Unix seconds. kInvalidArgument if
// there is none.
Result<std::int64_t> CertificateEnd(std::string_view pem);

}  // namespace kvorum::rpc
