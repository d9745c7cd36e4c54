// The page of a browser that a request comes from, as its Origin header tells (RFC 6454), beside
// the host that it asks. Pure functions. A request without the header comes from no page, or from
// one of the host's own.
#pragma once

#include <string>
#include <string_view>

#include "rpc/http/http.h"

namespace kvorum::rpc {

// The host that is asked: the header's, which a target's own has replaced (http1_rules.h), as in
// Go.
std::string_view AskedHost(const HttpRequest& request);
// The host without its port, as Go's net.SplitHostPort finds it; the whole text if that fails.
std::string_view HostnameOf(std::string_view host);

// The origin with its port, be it the scheme's ("http://a" is "http://a:80"), in lower case.
std::string WithPort(std::string_view origin);
// True for the origin that the request's own answers have.
bool IsOwnOrigin(std::string_view origin, const HttpRequest& request);
// True if a page of another host sent it: what its browser added, such as cookies, is nothing that
// the page knows. Another port is the same host, as for cookies.
bool IsFromOtherHost(const HttpRequest& request);

}  // namespace kvorum::rpc
