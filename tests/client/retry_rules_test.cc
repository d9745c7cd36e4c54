#include "client/retry_rules.h"

#include <gtest/gtest.h>

namespace kvorum::client {
namespace {

using enum NextStep;

const Error kGone{Code::kUnavailable, "Socket closed"};
const Error kNotConnected{Code::kUnavailable,
                          "failed to connect to all addresses; last error: UNKNOWN: refused"};
const Error kInvalidToken{Code::kUnauthenticated, "etcdserver: invalid auth token"};
const Error kOldRevision{Code::kInvalidArgument, "etcdserver: revision of auth store is old"};
const Error kNoUser{Code::kInvalidArgument, "etcdserver: user name is empty"};
const Error kLearner{Code::kFailedPrecondition, "etcdserver: rpc not supported for learner"};

TEST(RetryRulesTest, AReadGoesOnElsewhereWheneverTheAnswerIsUnavailable) {
  const Attempt read{.repeat = Repeat::kRead};
  EXPECT_EQ(AfterError(kGone, read), kAnotherMember);
  EXPECT_EQ(AfterError({Code::kUnavailable, "etcdserver: no leader"}, read), kAnotherMember);
  EXPECT_EQ(AfterError({Code::kUnavailable, "etcdserver: request timed out"}, read),
            kAnotherMember);
}

TEST(RetryRulesTest, AReadGoesOnElsewhereWhenTheMemberGaveUpInTime) {
  for (const Code code : {Code::kCanceled, Code::kDeadlineExceeded}) {
    EXPECT_EQ(AfterError({code, "CANCELLED"}, {.repeat = Repeat::kRead}), kAnotherMember);
    EXPECT_EQ(AfterError({code, "CANCELLED"}, {.repeat = Repeat::kRead, .is_out_of_time = true}),
              kFail);
    EXPECT_EQ(AfterError({code, "CANCELLED"}, {.repeat = Repeat::kWrite}), kFail);
  }
}

TEST(RetryRulesTest, AWriteGoesOnElsewhereOnlyIfItWasNeverSent) {
  const Attempt write{.repeat = Repeat::kWrite, .has_other_members = true};
  EXPECT_EQ(AfterError(kNotConnected, write), kAnotherMember);
  EXPECT_EQ(AfterError(kGone, write), kFail);
  EXPECT_EQ(AfterError({Code::kUnavailable, "etcdserver: leader changed"}, write), kFail);
  EXPECT_EQ(AfterError({Code::kUnavailable, "not failed to connect to all addresses"}, write),
            kFail);
  EXPECT_EQ(AfterError({Code::kUnknown, kNotConnected.message}, write), kFail);
}

TEST(RetryRulesTest, OtherErrorsAreTheCallers) {
  for (const Repeat repeat : {Repeat::kRead, Repeat::kWrite}) {
    for (const Code code :
         {Code::kUnknown, Code::kInvalidArgument, Code::kNotFound, Code::kPermissionDenied,
          Code::kResourceExhausted, Code::kFailedPrecondition, Code::kOutOfRange,
          Code::kUnimplemented, Code::kInternal, Code::kDataLoss, Code::kUnauthenticated}) {
      EXPECT_EQ(AfterError({code, "etcdserver: request is too large"}, {.repeat = repeat}), kFail);
    }
  }
}

TEST(RetryRulesTest, ARefusedTokenIsRenewedByWhoHasAPassword) {
  for (const Repeat repeat : {Repeat::kRead, Repeat::kWrite}) {
    const Attempt password{
        .repeat = repeat, .credentials = Credentials::kPassword, .showed_token = true};
    EXPECT_EQ(AfterError(kInvalidToken, password), kNewToken);
    EXPECT_EQ(AfterError(kOldRevision, password), kNewToken);
    const Attempt token{.repeat = repeat, .credentials = Credentials::kToken, .showed_token = true};
    EXPECT_EQ(AfterError(kInvalidToken, token), kFail);
    EXPECT_EQ(AfterError(kOldRevision, token), kFail);
  }
}

TEST(RetryRulesTest, ACertificatesUserIsLookedUpAgainAfterAChange) {
  EXPECT_EQ(AfterError(kOldRevision, {.repeat = Repeat::kWrite}), kAnotherMember);
  EXPECT_EQ(AfterError(kInvalidToken, {.repeat = Repeat::kWrite}), kFail);
}

TEST(RetryRulesTest, AMissingUserIsATokenThatWasNotShownYet) {
  Attempt attempt{.credentials = Credentials::kPassword, .showed_token = false};
  EXPECT_EQ(AfterError(kNoUser, attempt), kNewToken);
  attempt.showed_token = true;  // the request itself names no user
  EXPECT_EQ(AfterError(kNoUser, attempt), kFail);
  EXPECT_EQ(AfterError(kNoUser, {.credentials = Credentials::kNone}), kFail);
}

TEST(RetryRulesTest, ALearnerSendsOnToOthersIfThereAreAny) {
  EXPECT_EQ(AfterError(kLearner, {.repeat = Repeat::kWrite, .has_other_members = true}),
            kAnotherMember);
  EXPECT_EQ(AfterError(kLearner, {.repeat = Repeat::kRead, .has_other_members = false}), kFail);
}

TEST(RetryRulesTest, AReasonHasItsCodeInItsText) {
  EXPECT_EQ(ParseReason("rpc error: code = Unauthenticated desc = etcdserver: invalid auth token"),
            kInvalidToken);
  EXPECT_EQ(ParseReason("rpc error: code = Odd desc = x"), (Error{Code::kUnknown, "x"}));
  EXPECT_EQ(ParseReason("mvcc: watcher range is empty"),
            (Error{Code::kUnknown, "mvcc: watcher range is empty"}));
  EXPECT_EQ(ParseReason(""), (Error{Code::kUnknown, ""}));
}

}  // namespace
}  // namespace kvorum::client
