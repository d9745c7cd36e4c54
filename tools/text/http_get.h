// One GET over HTTP/1.1 to a member: its metrics page and its probes, which gRPC does not serve.
//
// Thread-safe; blocks until the answer is complete or the time is up.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "client/client.h"

namespace kvorum::ctl {

struct HttpAnswer {
  unsigned status = 0;
  std::string body = {};
  // The member's clock, in whole seconds, cut off.
  std::optional<std::chrono::sys_seconds> date = {};
  // Over TLS: the last second of the member's certificate.
  std::optional<std::chrono::sys_seconds> certificate_end = {};
};

// The endpoint as --endpoints takes it. Uses TLS, and checks the member's certificate, as the
// client does for the same endpoint. Errors: kUnavailable with the reason. An answer above 64 MiB
// is refused.
Result<HttpAnswer> HttpGet(const std::string& endpoint, std::string_view path,
                           const client::TlsOptions& tls, std::chrono::nanoseconds timeout);

// The time at which the first certificate in a PEM file expires.
Result<std::chrono::sys_seconds> CertificateEnd(const std::string& file);

}  // namespace kvorum::ctl
