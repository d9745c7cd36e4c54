#include "server/call/reply.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "base/api_errors.h"

namespace kvorum::server {
namespace {

SharedBytes EncodeNumber(const ResponseHeader& header, const int& number) {
  return SharedBytes::Own(std::to_string(header.revision) + ":" + std::to_string(number));
}

// The answer that a call over gRPC got.
struct Answered {
  int times = 0;
  Result<std::string> value;

  Reply<int> NewReply() {
    return {rpc::UnaryReply::ToFunction([this](Result<ByteChain> answer) {
              ++times;
              value = answer.has_value() ? Result<std::string>(Join(*answer))
                                         : std::unexpected(answer.error());
            }),
            EncodeNumber};
  }
};

TEST(ReplyTest, ACallOverGrpcGetsTheEncodedResponse) {
  Answered answered;
  answered.NewReply().Send({.revision = 3}, 7);
  EXPECT_EQ(answered.times, 1);
  EXPECT_EQ(answered.value, "3:7");
}

TEST(ReplyTest, ACallOverGrpcThatIsDroppedFails) {
  Answered answered;
  {
    const Reply<int> dropped = answered.NewReply();
  }
  EXPECT_EQ(answered.times, 1);
  EXPECT_EQ(answered.value.error().code, Code::kInternal);
}

TEST(ReplyTest, ACallFromInsideGetsTheResponseAsItIs) {
  std::optional<Result<Reply<int>::Answer>> got;
  const auto keep = [&](Result<Reply<int>::Answer> answer) { got = std::move(answer); };
  Reply<int>::ToFunction(keep).Send({.revision = 3}, 7);
  ASSERT_TRUE(got.has_value() && got->has_value());
  EXPECT_EQ((*got)->header.revision, 3);
  EXPECT_EQ((*got)->response, 7);
  Reply<int>::ToFunction(keep).Fail(kErrStopped.ToError());
  EXPECT_EQ(got->error(), kErrStopped);
}

// The member has stopped by then, and the executor that the function posts to may be gone.
TEST(ReplyTest, ACallFromInsideThatIsDroppedIsReleasedAndNotCalled) {
  auto held = std::make_shared<int>();
  const std::weak_ptr<int> alive = held;
  bool called = false;
  {
    Reply<int> reply = Reply<int>::ToFunction(
        [&called, held = std::move(held)](const Result<Reply<int>::Answer>&) { called = true; });
    const Reply<int> moved = std::move(reply);
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
  EXPECT_FALSE(called);
}

}  // namespace
}  // namespace kvorum::server
