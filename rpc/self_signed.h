// A certificate that vouches for itself, for traffic that is to be encrypted before anybody has
// made certificates (--auto-tls, --peer-auto-tls): an ECDSA key on P-256, good for servers and
// clients, and an authority of its own, so that it may stand in a client's list of trusted ones.
//
// Pure but for OpenSSL's random numbers. Thread-safe.
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

// Until when the first certificate of a PEM text is valid, in Unix seconds. kInvalidArgument if
// there is none.
Result<std::int64_t> CertificateEnd(std::string_view pem);

}  // namespace kvorum::rpc
