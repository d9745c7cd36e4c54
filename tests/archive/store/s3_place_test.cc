#include "archive/store/s3_place.h"

#include <gtest/gtest.h>

namespace kvorum::archive {
namespace {

std::optional<std::string> EmptyEnvironment(const char*) { return std::nullopt; }

StoreResult<S3Place> Find(const S3Settings& settings) {
  return FindS3Place(settings, &EmptyEnvironment);
}

TEST(S3PlaceTest, AwsIsAskedByVirtualHost) {
  const auto place = Find({.bucket = "kv-backup", .prefix = "a/b", .region = "eu-west-1"});
  ASSERT_TRUE(place.has_value()) << place.error().text;
  EXPECT_EQ(place->origin, "https://kv-backup.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(place->host, "kv-backup.s3.eu-west-1.amazonaws.com");
  EXPECT_EQ(place->base_path, "");
  EXPECT_EQ(place->prefix, "a/b/");
  EXPECT_EQ(place->name, "s3://kv-backup/a/b");
}

TEST(S3PlaceTest, ABucketWithADotAndOtherEndpointsAreAskedByPath) {
  EXPECT_EQ(Find({.bucket = "kv.backup"})->base_path, "/kv.backup");
  const auto place = Find({.bucket = "kvb", .endpoint = "https://[::1]:9000/"});
  ASSERT_TRUE(place.has_value());
  EXPECT_EQ(place->origin, "https://[::1]:9000");
  EXPECT_EQ(place->base_path, "/kvb");
  EXPECT_EQ(place->region, "us-east-1");
  EXPECT_EQ(
      Find({.bucket = "kvb", .endpoint = "http://h:81", .style = BucketStyle::kVirtualHost})->host,
      "kvb.h:81");
}

TEST(S3PlaceTest, TheHostHeaderLeavesOutTheImpliedPort) {
  EXPECT_EQ(Find({.bucket = "kvb", .endpoint = "https://h:443"})->host, "h");
  EXPECT_EQ(Find({.bucket = "kvb", .endpoint = "http://h:443"})->host, "h:443");
}

TEST(S3PlaceTest, TheRegionMayComeFromTheEnvironment) {
  const auto place = FindS3Place({.bucket = "kvb"}, [](const char* variable) {
    return std::string_view(variable) == "AWS_DEFAULT_REGION"
               ? std::optional<std::string>("ap-south-1")
               : std::nullopt;
  });
  EXPECT_EQ(place->region, "ap-south-1");
}

TEST(S3PlaceTest, RefusesWhatCannotBeABucketAPrefixOrAnEndpoint) {
  for (const S3Settings& wrong : {
           S3Settings{.bucket = "ab"},
           S3Settings{.bucket = "a/b/c"},
           S3Settings{.bucket = "a..b"},
           S3Settings{.bucket = "kvb", .prefix = "../x"},
           S3Settings{.bucket = "kvb", .prefix = "a//b"},
           S3Settings{.bucket = "kvb", .region = "x y"},
           S3Settings{.bucket = "kvb", .endpoint = "ftp://h"},
           S3Settings{.bucket = "kvb", .endpoint = "h:9000"},
           S3Settings{.bucket = "kvb", .endpoint = "http://user:pass@h"},
           S3Settings{.bucket = "kvb", .endpoint = "http://h/path"},
       }) {
    const auto place = Find(wrong);
    ASSERT_FALSE(place.has_value()) << wrong.bucket << wrong.endpoint;
    EXPECT_EQ(place.error().kind, StoreErrorKind::kInvalid);
    EXPECT_EQ(place.error().text.find("pass"), std::string::npos);
  }
}

TEST(S3PlaceTest, StylesHaveNames) {
  EXPECT_EQ(ParseBucketStyle("virtual"), BucketStyle::kVirtualHost);
  EXPECT_EQ(ParseBucketStyle("path"), BucketStyle::kPath);
  EXPECT_EQ(ParseBucketStyle("auto"), BucketStyle::kAuto);
  EXPECT_EQ(ParseBucketStyle("other"), std::nullopt);
}

}  // namespace
}  // namespace kvorum::archive
