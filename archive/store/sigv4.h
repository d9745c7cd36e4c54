// AWS's signature version 4 of a request, in the Authorization header. S3's rules: each segment of
// the path is encoded once and nothing is normalised. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "archive/store/credentials.h"

namespace kvorum::archive {

struct SignedRequest {
  std::string method;
  std::string path;  // not encoded, begins with a slash
  // Names and values, not encoded, in any order.
  std::vector<std::pair<std::string, std::string>> query;
  // Each is signed, so all must be sent as they are here. Names in lower case, each once. `host` is
  // one of them, `x-amz-date` and `authorization` are not: Sign adds these.
  std::vector<std::pair<std::string, std::string>> headers;
  std::string payload_sha256;  // 64 hexadecimal digits

  // A value.
  friend bool operator==(const SignedRequest&, const SignedRequest&) = default;
};

struct SigningScope {
  std::string region;
  std::string service;
  std::int64_t unix_seconds = 0;
};

// All bytes but [A-Za-z0-9._~-] as %XX; in a path, the slash stays.
std::string EncodePath(std::string_view path);
std::string EncodeQueryPart(std::string_view text);
// Sorted by the encoded names, "name=" for an empty value: the query of the URL as it is signed.
std::string CanonicalQuery(const SignedRequest& request);

// "20130524T000000Z".
std::string AmzDate(std::int64_t unix_seconds);
// The text whose hash is signed, with an x-amz-date that the headers have.
std::string CanonicalRequest(const SignedRequest& request);
// Adds x-amz-date, for a session x-amz-security-token, and authorization to the headers.
void Sign(SignedRequest& request, const SigningScope& scope, const Credentials& credentials);

}  // namespace kvorum::archive
