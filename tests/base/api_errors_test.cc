#include "base/api_errors.h"

#include <gtest/gtest.h>

#include <set>

namespace kvorum {
namespace {

TEST(ApiErrorsTest, EachTextOfTheApiStandsOnce) {
  std::set<std::string_view> texts;
  for (const ApiError& error : kApiErrors) {
    EXPECT_TRUE(error.message.starts_with("etcdserver: ")) << error.message;
    EXPECT_TRUE(texts.insert(error.message).second) << error.message;
    EXPECT_NE(error.code, Code::kOk) << error.message;
  }
}

TEST(ApiErrorsTest, AnErrorIsItsCodeAndItsText) {
  const Error compacted{Code::kOutOfRange,
                        "etcdserver: mvcc: required revision has been compacted"};
  EXPECT_EQ(compacted, kErrCompacted);
  EXPECT_EQ(kErrCompacted.ToError(), compacted);
  EXPECT_EQ(kErrCompacted.Fail().error(), compacted);
  EXPECT_FALSE(compacted == kErrFutureRev);
  EXPECT_FALSE(kErrAnswersFull.ToError() == kErrTooManyRequests) << "one text, two codes";
}

}  // namespace
}  // namespace kvorum
