#include "archive/store/s3_place.h"

#include <algorithm>

#include "archive/store/object_store.h"
#include "base/letter_case.h"
#include "base/net/uri.h"

namespace kvorum::archive {
namespace {

// AWS's own limits of a bucket's name.
constexpr std::size_t kMinBucketBytes = 3;
constexpr std::size_t kMaxBucketBytes = 63;
constexpr std::size_t kMaxPrefixBytes = 256;

bool IsNameText(std::string_view text, std::string_view also) {
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || IsDigit(c) || also.contains(c);
  });
}

std::unexpected<StoreError> PlaceFail(std::string text) {
  return StoreFail(StoreErrorKind::kInvalid, std::move(text));
}

// The Host header leaves out the port that the scheme implies.
std::string HostHeader(const std::string& scheme, const std::string& authority) {
  const auto parts = SplitHostPort(authority);
  const bool is_implied = parts.has_value() && ((scheme == "https" && parts->port == "443") ||
                                                (scheme == "http" && parts->port == "80"));
  return is_implied ? authority.substr(0, authority.rfind(':')) : authority;
}

}  // namespace

std::optional<BucketStyle> ParseBucketStyle(std::string_view text) {
  if (text == "auto") return BucketStyle::kAuto;
  if (text == "path") return BucketStyle::kPath;
  if (text == "virtual") return BucketStyle::kVirtualHost;
  return std::nullopt;
}

StoreResult<S3Place> FindS3Place(const S3Settings& settings, const EnvironmentReader& environment) {
  const std::string& bucket = settings.bucket;
  if (bucket.size() < kMinBucketBytes || bucket.size() > kMaxBucketBytes ||
      !IsNameText(bucket, ".-_") || bucket.starts_with('.') || bucket.contains("..")) {
    return PlaceFail("\"" + bucket + "\" is not a name that a bucket can have");
  }
  if (settings.prefix.size() > kMaxPrefixBytes) return PlaceFail("a prefix of more than 256 bytes");
  if (!settings.prefix.empty()) {
    if (const auto checked = CheckKey(settings.prefix); !checked.has_value()) {
      return PlaceFail("the prefix \"" + settings.prefix + "\" is " + checked.error().text);
    }
  }
  S3Place place;
  place.region = settings.region;
  for (const char* const variable : {"AWS_REGION", "AWS_DEFAULT_REGION"}) {
    if (place.region.empty()) place.region = environment(variable).value_or("");
  }
  if (place.region.empty()) place.region = "us-east-1";
  if (!IsNameText(place.region, "-_")) return PlaceFail("\"" + place.region + "\" is not a region");

  const bool is_aws = settings.endpoint.empty();
  const std::string endpoint =
      is_aws ? "https://s3." + place.region +
                   (place.region.starts_with("cn-") ? ".amazonaws.com.cn" : ".amazonaws.com")
             : settings.endpoint;
  const auto uri = Uri::Parse(endpoint);
  if (!uri.has_value() || (uri->scheme != "https" && uri->scheme != "http") || uri->host.empty() ||
      uri->user.has_value() || uri->query.has_value() || (!uri->path.empty() && uri->path != "/")) {
    // Not its text, which may have a password.
    return PlaceFail("the endpoint is not of the form https://host:port");
  }
  const auto is_host_character = [](char c) { return c > ' ' && c < '\x7f' && c != '@'; };
  if (!std::ranges::all_of(uri->host, is_host_character)) {
    return PlaceFail("the endpoint's host has characters that no host has");
  }
  const bool by_path = settings.style == BucketStyle::kPath ||
                       (settings.style == BucketStyle::kAuto && (!is_aws || bucket.contains('.')));
  const std::string authority = by_path ? uri->host : bucket + "." + uri->host;
  place.origin = uri->scheme + "://" + authority;
  place.host = HostHeader(uri->scheme, authority);
  if (by_path) place.base_path = "/" + bucket;
  if (!settings.prefix.empty()) place.prefix = settings.prefix + "/";
  place.name = "s3://" + bucket + (settings.prefix.empty() ? "" : "/" + settings.prefix);
  return place;
}

}  // namespace kvorum::archive
