// The place of a bucket, and how its requests name it. Values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "archive/store/store_error.h"

namespace kvorum::archive {

enum class BucketStyle : std::uint8_t {
  kAuto,         // kVirtualHost at AWS unless the bucket's name has a dot, kPath at other endpoints
  kPath,         // https://endpoint/bucket/key
  kVirtualHost,  // https://bucket.endpoint/key
};

// "auto", "path", "virtual": nothing for another text.
std::optional<BucketStyle> ParseBucketStyle(std::string_view text);

struct S3Settings {
  std::string bucket = {};
  std::string prefix = {};    // of all keys, without slashes at its ends; empty: none
  std::string endpoint = {};  // "https://host:port"; empty: AWS's of the region
  std::string region = {};    // empty: AWS_REGION, AWS_DEFAULT_REGION, else us-east-1
  BucketStyle style = BucketStyle::kAuto;
};

struct S3Place {
  std::string origin;     // "https://host:port"
  std::string host;       // as the Host header has it
  std::string base_path;  // "/bucket" or "", not encoded
  std::string region;
  std::string prefix;  // with a slash at its end, or empty
  std::string name;    // "s3://bucket/prefix"
};

using EnvironmentReader = std::function<std::optional<std::string>(const char* variable)>;

// kInvalid with the reason.
StoreResult<S3Place> FindS3Place(const S3Settings& settings, const EnvironmentReader& environment);

}  // namespace kvorum::archive
