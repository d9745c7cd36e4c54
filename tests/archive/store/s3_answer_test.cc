#include "archive/store/s3_answer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/damage.h"

namespace kvorum::archive {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::int64_t kNow = 1'369'353'600;
constexpr const char* kDateOfNow = "Fri, 24 May 2013 00:00:00 GMT";
constexpr const char* kAnHourLater = "Fri, 24 May 2013 01:00:00 GMT";

HttpAnswer Answer(int status, const std::string& code, const std::string& message = "m") {
  return {.status = status,
          .headers = {{"date", kDateOfNow}},
          .body = code.empty() ? ""
                               : "<Error><Code>" + code + "</Code><Message>" + message +
                                     "</Message><Region>eu-west-1</Region></Error>"};
}

StoreErrorKind KindOf(int status, const std::string& code, const std::string& message = "m") {
  return FailureOf(Answer(status, code, message), "PUT k", kNow).error.kind;
}

TEST(S3AnswerTest, ACodeDecidesBeforeTheStatus) {
  EXPECT_EQ(KindOf(404, "NoSuchKey"), StoreErrorKind::kAbsent);
  EXPECT_EQ(KindOf(404, "NoSuchBucket"), StoreErrorKind::kInvalid);
  EXPECT_EQ(KindOf(412, "PreconditionFailed"), StoreErrorKind::kExists);
  EXPECT_EQ(KindOf(409, "ConditionalRequestConflict"), StoreErrorKind::kConflict);
  EXPECT_EQ(KindOf(403, "SignatureDoesNotMatch"), StoreErrorKind::kDenied);
  EXPECT_EQ(KindOf(400, "ExpiredToken"), StoreErrorKind::kDenied);
  EXPECT_EQ(KindOf(400, "RequestTimeout"), StoreErrorKind::kUnavailable);
  EXPECT_EQ(KindOf(400, "BadDigest"), StoreErrorKind::kUnavailable);
  EXPECT_EQ(KindOf(400, "InvalidArgument"), StoreErrorKind::kInvalid);
  EXPECT_EQ(KindOf(503, "SlowDown"), StoreErrorKind::kThrottled);
  EXPECT_EQ(KindOf(503, "ServiceUnavailable"), StoreErrorKind::kUnavailable);
  EXPECT_EQ(KindOf(507, "XMinioStorageFull"), StoreErrorKind::kFull);
}

TEST(S3AnswerTest, AStatusAloneIsEnough) {
  EXPECT_EQ(KindOf(404, ""), StoreErrorKind::kAbsent);
  EXPECT_EQ(KindOf(403, ""), StoreErrorKind::kDenied);
  EXPECT_EQ(KindOf(412, ""), StoreErrorKind::kExists);
  EXPECT_EQ(KindOf(429, ""), StoreErrorKind::kThrottled);
  for (const int status : {500, 502, 504})
    EXPECT_EQ(KindOf(status, ""), StoreErrorKind::kUnavailable);
  EXPECT_EQ(KindOf(400, ""), StoreErrorKind::kInvalid);
}

TEST(S3AnswerTest, AnErrorBehindA200HasItsOwnKind) {
  EXPECT_EQ(KindOf(200, "SlowDown"), StoreErrorKind::kThrottled);
  EXPECT_EQ(KindOf(200, "InternalError"), StoreErrorKind::kUnavailable);
  EXPECT_EQ(KindOf(200, "NeverHeardOf"), StoreErrorKind::kUnavailable);
  EXPECT_TRUE(IsErrorText("<Error><Code>x</Code></Error>"));
  EXPECT_FALSE(IsErrorText("<ListBucketResult/>"));
  EXPECT_FALSE(IsErrorText(""));
}

TEST(S3AnswerTest, ARefusalByObjectLockIsToldFromOthers) {
  EXPECT_EQ(KindOf(403, "AccessDenied", "Access Denied because object protected by object lock."),
            StoreErrorKind::kLocked);
  EXPECT_EQ(KindOf(403, "AccessDenied", "Access Denied"), StoreErrorKind::kDenied);
}

TEST(S3AnswerTest, ARedirectNamesTheRegionOfTheBucket) {
  HttpAnswer answer = Answer(301, "");
  answer.headers["x-amz-bucket-region"] = "eu-central-1";
  const S3Failure failure = FailureOf(answer, "PUT k", kNow);
  EXPECT_EQ(failure.error.kind, StoreErrorKind::kInvalid);
  EXPECT_EQ(failure.error.text, "PUT k: 301: the bucket is in the region eu-central-1");
  EXPECT_THAT(FailureOf(Answer(400, "AuthorizationHeaderMalformed"), "PUT k", kNow).error.text,
              HasSubstr("the bucket is in the region eu-west-1"));
}

TEST(S3AnswerTest, ARefusedTimeGivesTheStoresOwn) {
  HttpAnswer answer = Answer(403, "RequestTimeTooSkewed");
  answer.headers["date"] = kAnHourLater;
  const S3Failure failure = FailureOf(answer, "PUT k", kNow);
  EXPECT_EQ(failure.error.kind, StoreErrorKind::kClockSkew);
  EXPECT_EQ(failure.store_unix_seconds, kNow + 3600);
  EXPECT_THAT(failure.error.text, HasSubstr("differ by 3600 s"));
}

TEST(S3AnswerTest, ARefusalWithoutATextIsOfTheTimeIfTheClocksDiffer) {
  HttpAnswer answer = Answer(403, "");
  EXPECT_FALSE(FailureOf(answer, "HEAD k", kNow).store_unix_seconds.has_value());
  answer.headers["date"] = kAnHourLater;
  EXPECT_EQ(FailureOf(answer, "HEAD k", kNow).store_unix_seconds, kNow + 3600);
}

TEST(S3AnswerTest, AMessageIsShownOnOneShortLine) {
  const std::string text =
      FailureOf(Answer(400, "Odd\nCode", std::string(10'000, 'x') + "\n"), "PUT k", kNow)
          .error.text;
  EXPECT_LT(text.size(), 400u);
  EXPECT_THAT(text, HasSubstr("Odd?Code"));
}

TEST(S3AnswerTest, ReadsAPageOfAList) {
  const auto page = ParseListPage(
      "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>t/+=</NextContinuationToken>"
      "<Contents><Key>a%2Fb+c%2B</Key><Size>18446744073709551615</Size></Contents>"
      "<Contents><Key>d</Key><Size>0</Size></Contents></ListBucketResult>");
  ASSERT_TRUE(page.has_value());
  EXPECT_EQ(page->next, "t/+=");
  EXPECT_THAT(page->keys, ElementsAre(ListedKey{"a/b c+", UINT64_MAX}, ListedKey{"d", 0}));
}

TEST(S3AnswerTest, RefusesAListThatCannotBeRight) {
  for (const char* body :
       {"", "<html/>", "<ListBucketResult>",
        "<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Key>a</Key><Size>-1</Size></Contents></ListBucketResult>",
        "<ListBucketResult><Contents><Size>1</Size></Contents></ListBucketResult>"}) {
    const auto page = ParseListPage(body);
    ASSERT_FALSE(page.has_value()) << body;
    EXPECT_EQ(page.error().kind, StoreErrorKind::kDamaged) << body;
  }
}

TEST(S3AnswerTest, ADamagedListIsReadOrRefused) {
  const std::string whole =
      "<ListBucketResult><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
      "<NextContinuationToken>t</NextContinuationToken><Contents><Key>a%2Fb</Key><Size>12</Size>"
      "</Contents></ListBucketResult>";
  ASSERT_TRUE(ParseListPage(whole).has_value());
  ForEachCut(whole, [](std::string_view cut) { EXPECT_FALSE(ParseListPage(cut).has_value()); });
  ForEachFlip(whole, [](std::string_view flipped, std::size_t) {
    const auto page = ParseListPage(flipped);
    EXPECT_TRUE(!page.has_value() || page->keys.size() <= 1);
    ParseDeleteResult(flipped);
    IsErrorText(flipped);
  });
}

TEST(S3AnswerTest, ReadsTheKeysThatWereNotDeleted) {
  const auto failures = ParseDeleteResult(
      "<DeleteResult><Deleted><Key>a</Key></Deleted>"
      "<Error><Key>b</Key><Code>InternalError</Code><Message>m</Message></Error>"
      "<Error><Key>c</Key><Code>NoSuchKey</Code></Error></DeleteResult>");
  ASSERT_TRUE(failures.has_value());
  ASSERT_EQ(failures->size(), 1u);
  EXPECT_EQ(failures->front().key, "b");
  EXPECT_EQ(failures->front().error.kind, StoreErrorKind::kUnavailable);
  EXPECT_EQ(ParseDeleteResult("<Error/>").error().kind, StoreErrorKind::kDamaged);
}

TEST(S3AnswerTest, ReadsAnObjectsHeaders) {
  const auto info = ParseObjectHeaders({.status = 206,
                                        .headers = {{"content-length", "10"},
                                                    {"content-range", "bytes 0-9/443"},
                                                    {"etag", "\"v\""},
                                                    {"x-amz-object-lock-legal-hold", "ON"}},
                                        .body = {}});
  ASSERT_TRUE(info.has_value());
  EXPECT_EQ(info->size_bytes, 443u);
  EXPECT_EQ(info->version, "\"v\"");
  EXPECT_EQ(info->lock, "legal hold");
  EXPECT_EQ(ParseObjectHeaders({}).error().kind, StoreErrorKind::kUnavailable);
}

}  // namespace
}  // namespace kvorum::archive
