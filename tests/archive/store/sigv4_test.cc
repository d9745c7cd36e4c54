// The examples that AWS publishes: of its test suite for signature version 4, and of S3's pages.
#include "archive/store/sigv4.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/digest/sha256.h"

namespace kvorum::archive {
namespace {

using testing::EndsWith;
using testing::HasSubstr;

constexpr std::int64_t kSuiteTime = 1440938160;    // 2015-08-30 12:36:00 UTC
constexpr std::int64_t kS3PagesTime = 1369353600;  // 2013-05-24 00:00:00 UTC

SignedRequest SuiteRequest() {
  return {.method = "GET",
          .path = "/",
          .query = {},
          .headers = {{"host", "example.amazonaws.com"}},
          .payload_sha256 = Sha256Hex("")};
}

std::string SignedBySuite(SignedRequest request) {
  Sign(request, {.region = "us-east-1", .service = "service", .unix_seconds = kSuiteTime},
       {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""});
  return request.headers.back().second;
}

SignedRequest S3Request(const std::string& method, const std::string& path,
                        const std::string& body = "") {
  return {.method = method,
          .path = path,
          .query = {},
          .headers = {{"host", "examplebucket.s3.amazonaws.com"},
                      {"x-amz-content-sha256", Sha256Hex(body)}},
          .payload_sha256 = Sha256Hex(body)};
}

std::string SignedForS3(SignedRequest request, const std::string& token = "") {
  Sign(request, {.region = "us-east-1", .service = "s3", .unix_seconds = kS3PagesTime},
       {"AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", token});
  return request.headers.back().second;
}

TEST(SigV4Test, SignsGetVanilla) {
  EXPECT_EQ(SignedBySuite(SuiteRequest()),
            "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
            "SignedHeaders=host;x-amz-date, "
            "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

TEST(SigV4Test, SignsGetVanillaQueryOrderKeyCase) {
  SignedRequest request = SuiteRequest();
  request.query = {{"Param2", "value2"}, {"Param1", "value1"}};
  EXPECT_THAT(SignedBySuite(request),
              EndsWith("=b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"));
}

TEST(SigV4Test, SignsAGetOfAnObject) {
  SignedRequest request = S3Request("GET", "/test.txt");
  request.headers.emplace_back("range", "bytes=0-9");
  EXPECT_EQ(SignedForS3(request),
            "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
            "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
            "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
}

TEST(SigV4Test, SignsAPutOfAnObject) {
  SignedRequest request = S3Request("PUT", "/test$file.text", "Welcome to Amazon S3.");
  request.headers.emplace_back("date", "Fri, 24 May 2013 00:00:00 GMT");
  request.headers.emplace_back("x-amz-storage-class", "REDUCED_REDUNDANCY");
  EXPECT_THAT(SignedForS3(request),
              EndsWith("=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"));
}

TEST(SigV4Test, SignsAQueryWithoutAValue) {
  SignedRequest request = S3Request("GET", "/");
  request.query = {{"lifecycle", ""}};
  EXPECT_THAT(SignedForS3(request),
              EndsWith("=fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"));
}

TEST(SigV4Test, SignsAList) {
  SignedRequest request = S3Request("GET", "/");
  request.query = {{"prefix", "J"}, {"max-keys", "2"}};
  EXPECT_THAT(SignedForS3(request),
              EndsWith("=34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"));
}

TEST(SigV4Test, SignsTheTokenOfASession) {
  EXPECT_THAT(SignedForS3(S3Request("GET", "/"), "token"),
              HasSubstr("SignedHeaders=host;x-amz-content-sha256;x-amz-date;x-amz-security-token"));
}

TEST(SigV4Test, EncodesEachByteOnce) {
  EXPECT_EQ(EncodePath("/a b/\xC3\xA9+=:@%~-._"), "/a%20b/%C3%A9%2B%3D%3A%40%25~-._");
  EXPECT_EQ(EncodeQueryPart("a/b c"), "a%2Fb%20c");
  SignedRequest request = SuiteRequest();
  request.query = {{"b", "1/2"}, {"a", ""}, {"A", "x"}};
  EXPECT_EQ(CanonicalQuery(request), "A=x&a=&b=1%2F2");
}

TEST(SigV4Test, JoinsRunsOfSpacesInAHeader) {
  SignedRequest request = SuiteRequest();
  request.headers.emplace_back("my-header1", "  a   b   c  ");
  EXPECT_THAT(CanonicalRequest(request), HasSubstr("\nmy-header1:a b c\n"));
}

TEST(SigV4Test, WritesADate) {
  EXPECT_EQ(AmzDate(kSuiteTime), "20150830T123600Z");
  EXPECT_EQ(AmzDate(0), "19700101T000000Z");
  EXPECT_EQ(AmzDate(1709251199), "20240229T235959Z");
}

}  // namespace
}  // namespace kvorum::archive
