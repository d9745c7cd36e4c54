// Rules of HTTP/2 (RFC 9113, section 8) for a request's fields beyond their single bytes. A request
// that breaks one is malformed and never served. Pure functions.
//
// The rules are not stricter than the RFC, so that every conforming client is served: any scheme of
// RFC 3986's form, also "http" under TLS; no authority; an authority that is not a host, as etcd's
// own clients send.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace kvorum::rpc {

// Connection-specific fields of HTTP/1.1: connection, keep-alive, proxy-connection,
// transfer-encoding, upgrade.
bool IsConnectionField(std::string_view name);

// A te field may say "trailers" and nothing else.
bool IsAllowedTe(std::string_view value);

bool IsScheme(std::string_view value);

std::optional<std::uint64_t> ParseContentLength(std::string_view value);

// True if a host field names the same as :authority; the scheme's own port may be left out.
bool IsSameHost(std::string_view host, std::string_view authority, bool is_https);

}  // namespace kvorum::rpc
