#include "archive/store/sigv4.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "base/check.h"
#include "base/digest/sha256.h"
#include "base/text/percent.h"
#include "base/words.h"

namespace kvorum::archive {
namespace {

constexpr std::string_view kAlgorithm = "AWS4-HMAC-SHA256";
constexpr std::string_view kScopeEnd = "aws4_request";

bool IsUnreserved(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

std::string Encode(std::string_view text, bool keep_slash) {
  std::string encoded;
  for (const char c : text) {
    if (IsUnreserved(c) || (keep_slash && c == '/')) {
      encoded += c;
    } else {
      AppendPercentEscape(encoded, c);
    }
  }
  return encoded;
}

std::string HmacSha256(std::string_view key, std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned size = 0;
  KV_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
                reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data(),
                &size) != nullptr,
           "OpenSSL's HMAC refuses SHA-256");
  std::string code(reinterpret_cast<const char*>(digest.data()), size);
  OPENSSL_cleanse(digest.data(), digest.size());
  return code;
}

// Trimmed, runs of spaces as one.
std::string CanonicalValue(std::string_view value) {
  std::string canonical;
  for (const char c : Trim(value)) {
    if (c != ' ' || !canonical.ends_with(' ')) canonical += c;
  }
  return canonical;
}

std::vector<std::pair<std::string, std::string>> SortedHeaders(const SignedRequest& request) {
  auto headers = request.headers;
  std::ranges::sort(headers);
  return headers;
}

std::string SignedNames(const SignedRequest& request) {
  std::vector<std::string> names;
  for (const auto& [name, value] : SortedHeaders(request)) names.push_back(name);
  return Join(names, ";");
}

std::string Signature(std::string_view text, std::string_view day, const SigningScope& scope,
                      const Credentials& credentials) {
  std::string key = "AWS4" + credentials.secret_key;
  for (const std::string_view part :
       {day, std::string_view(scope.region), std::string_view(scope.service), kScopeEnd, text}) {
    std::string next = HmacSha256(key, part);
    OPENSSL_cleanse(key.data(), key.size());
    key = std::move(next);
  }
  return HexText(key);
}

}  // namespace

std::string EncodePath(std::string_view path) { return Encode(path, true); }

std::string EncodeQueryPart(std::string_view text) { return Encode(text, false); }

std::string CanonicalQuery(const SignedRequest& request) {
  std::vector<std::pair<std::string, std::string>> encoded;
  for (const auto& [name, value] : request.query) {
    encoded.emplace_back(EncodeQueryPart(name), EncodeQueryPart(value));
  }
  std::ranges::sort(encoded);
  std::vector<std::string> parts;
  for (const auto& [name, value] : encoded) {
    std::string& part = parts.emplace_back(name);
    part += '=';
    part += value;
  }
  return Join(parts, "&");
}

std::string AmzDate(std::int64_t unix_seconds) {
  using std::chrono::days;
  const std::chrono::sys_seconds time{std::chrono::seconds(unix_seconds)};
  const auto day = std::chrono::floor<days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  const auto digits = [](std::int64_t value, std::size_t width) {
    const std::string text = std::to_string(value);
    return std::string(width - std::min(width, text.size()), '0') + text;
  };
  return digits(static_cast<int>(date.year()), 4) + digits(static_cast<unsigned>(date.month()), 2) +
         digits(static_cast<unsigned>(date.day()), 2) + "T" + digits(clock.hours().count(), 2) +
         digits(clock.minutes().count(), 2) + digits(clock.seconds().count(), 2) + "Z";
}

std::string CanonicalRequest(const SignedRequest& request) {
  std::string text =
      request.method + "\n" + EncodePath(request.path) + "\n" + CanonicalQuery(request) + "\n";
  for (const auto& [name, value] : SortedHeaders(request)) {
    text += name;
    text += ':';
    text += CanonicalValue(value);
    text += '\n';
  }
  return text + "\n" + SignedNames(request) + "\n" + request.payload_sha256;
}

void Sign(SignedRequest& request, const SigningScope& scope, const Credentials& credentials) {
  const std::string date = AmzDate(scope.unix_seconds);
  const std::string day = date.substr(0, date.find('T'));
  request.headers.emplace_back("x-amz-date", date);
  if (!credentials.session_token.empty()) {
    request.headers.emplace_back("x-amz-security-token", credentials.session_token);
  }
  const std::string place =
      day + "/" + scope.region + "/" + scope.service + "/" + std::string(kScopeEnd);
  const std::string text = std::string(kAlgorithm) + "\n" + date + "\n" + place + "\n" +
                           Sha256Hex(CanonicalRequest(request));
  const std::string names = SignedNames(request);
  request.headers.emplace_back(
      "authorization", std::string(kAlgorithm) + " Credential=" + credentials.access_key + "/" +
                           place + ", SignedHeaders=" + names +
                           ", Signature=" + Signature(text, day, scope, credentials));
}

}  // namespace kvorum::archive
