#include "client/error_text.h"

#include <gtest/gtest.h>

namespace kvorum::client {
namespace {

TEST(ErrorTextTest, TheApisOwnErrorsSpeakForThemselves) {
  EXPECT_EQ(ErrorText({Code::kInvalidArgument, "etcdserver: key is not provided"}),
            "etcdserver: key is not provided");
  EXPECT_EQ(ErrorText({Code::kUnknown, "etcdserver: too many requests"}),
            "etcdserver: too many requests");
}

TEST(ErrorTextTest, OthersAreShownWithTheirCode) {
  EXPECT_EQ(ErrorText({Code::kUnimplemented, "unknown service etcdserverpb.KV"}),
            "rpc error: code = Unimplemented desc = unknown service etcdserverpb.KV");
  EXPECT_EQ(ErrorText({Code::kUnknown, "etcdserver: unknown method"}),
            "rpc error: code = Unknown desc = etcdserver: unknown method");
}

TEST(ErrorTextTest, APassedDeadlineIsTheContexts) {
  EXPECT_EQ(ErrorText({Code::kDeadlineExceeded, "context deadline exceeded"}),
            "context deadline exceeded");
}

}  // namespace
}  // namespace kvorum::client
