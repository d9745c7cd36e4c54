#include "rpc/call/request_body.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tests/rpc/http2_client.h"

namespace kvorum::rpc {
namespace {

using Next = RequestBody::Next;

constexpr std::uint32_t kLimit = 1000;

// The error of a unary method that gets these bytes, and then no more.
std::string UnaryError(std::string_view bytes, std::size_t portion_bytes) {
  RequestBody body(kLimit);
  for (; !bytes.empty(); bytes.remove_prefix(std::min(portion_bytes, bytes.size())))
    if (const auto taken = body.Assemble(bytes.substr(0, portion_bytes)); !taken)
      return taken.error().message;
  const auto finished = body.Finish();
  return finished ? "" : finished.error().message;
}

TEST(RequestBodyTest, AUnaryMessageIsAssembledFromAnyPortions) {
  const std::string bytes = Message("hello");
  for (const std::size_t portion : {1UL, 4UL, 5UL, 100UL}) {
    RequestBody body(kLimit);
    for (std::size_t at = 0; at < bytes.size(); at += portion)
      ASSERT_TRUE(body.Assemble(bytes.substr(at, portion)));
    ASSERT_TRUE(body.Finish());
    EXPECT_EQ(body.messages(), 1);
    EXPECT_EQ(body.Take().view(), "hello");
    EXPECT_TRUE(body.Take().empty());
  }
}

TEST(RequestBodyTest, AUnaryRequestIsOneWholeMessage) {
  for (const std::size_t portion : {1UL, 100UL}) {
    EXPECT_EQ(UnaryError(Message("a"), portion), "");
    EXPECT_EQ(UnaryError("", portion), NoRequestError().message);
    EXPECT_EQ(UnaryError(Message("abc").substr(0, 7), portion), UnexpectedEndError().message);
    EXPECT_EQ(UnaryError(Message("a") + Message("b"), portion), ManyRequestsError().message);
    EXPECT_EQ(UnaryError(Message(std::string(kLimit + 1, 'x')), portion),
              MessageSizeError(kLimit + 1, kLimit).message);
  }
}

TEST(RequestBodyTest, BytesMustBeAsManyAsStated) {
  RequestBody body(kLimit);
  EXPECT_TRUE(body.Receive(1'000'000));
  EXPECT_TRUE(body.End());

  RequestBody stated(kLimit);
  stated.set_stated_bytes(10);
  EXPECT_TRUE(stated.Receive(9));
  EXPECT_FALSE(stated.ended());
  EXPECT_FALSE(stated.End());
  EXPECT_TRUE(stated.ended());
  EXPECT_TRUE(stated.Receive(1));
  EXPECT_TRUE(stated.End());
  EXPECT_FALSE(stated.Receive(1));
}

TEST(RequestBodyTest, AStreamsMessagesWaitUntilTheyAreRead) {
  RequestBody body(kLimit);
  body.Keep(Message("one") + Message("two").substr(0, 6));
  EXPECT_EQ(body.ReadOn(), 8);
  EXPECT_EQ(body.kept_bytes(), 6);
  ASSERT_EQ(body.Look(/*single=*/false), Next::kMessage);
  EXPECT_EQ(body.TakeNext().view(), "one");
  EXPECT_EQ(body.ReadOn(), 6);
  EXPECT_EQ(body.Look(false), Next::kUnknown);
  body.Keep("wo");
  EXPECT_EQ(body.ReadOn(), 2);
  ASSERT_EQ(body.Look(false), Next::kMessage);
  (void)body.TakeNext();
  EXPECT_EQ(body.Look(false), Next::kUnknown);
  body.End();
  EXPECT_EQ(body.Look(false), Next::kEnd);
  EXPECT_EQ(body.messages(), 2);
  EXPECT_EQ(body.message_bytes(), 6);
}

TEST(RequestBodyTest, ASingleRequestIsHandedOutWhenThereIsNoOther) {
  RequestBody body(kLimit);
  body.Keep(Message("one"));
  ASSERT_TRUE(body.ReadOn());
  EXPECT_EQ(body.Look(/*single=*/true), Next::kUnknown);
  body.End();
  EXPECT_EQ(body.Look(true), Next::kMessage);
  (void)body.TakeNext();
  EXPECT_EQ(body.Look(true), Next::kEnd);

  RequestBody two(kLimit);
  two.Keep(Message("one") + "x");
  ASSERT_TRUE(two.ReadOn());
  EXPECT_EQ(two.Look(true).error(), ManyRequestsError());

  RequestBody none(kLimit);
  none.End();
  EXPECT_EQ(none.Look(true).error(), NoRequestError());
  EXPECT_EQ(none.Look(false), Next::kEnd);
}

TEST(RequestBodyTest, AStreamThatEndsWithinAMessageIsAnError) {
  RequestBody body(kLimit);
  body.Keep(Message("one").substr(0, 6));
  ASSERT_TRUE(body.ReadOn());
  body.End();
  EXPECT_EQ(body.Look(false).error(), UnexpectedEndError());
}

TEST(RequestBodyTest, ItsPartOfTheConnectionsSumFollowsWhatItHolds) {
  std::uint64_t sum = 100;
  RequestBody body(kLimit);
  body.set_head_bytes(50);
  body.Keep(Message("abc"));
  body.CountIn(sum);
  EXPECT_EQ(sum, 158);
  ASSERT_TRUE(body.ReadOn());
  body.CountIn(sum);
  EXPECT_EQ(sum, 158);
  (void)body.TakeNext();
  body.CountIn(sum);
  EXPECT_EQ(sum, 150);
  body.Keep("rest");
  body.CountIn(sum);
  body.DropKept();
  body.CountIn(sum);
  EXPECT_EQ(sum, 150);
  body.CountOut(sum);
  body.CountOut(sum);
  EXPECT_EQ(sum, 100);

  RequestBody unary(kLimit);
  ASSERT_TRUE(unary.Assemble(Message("abc")));
  unary.CountIn(sum);
  EXPECT_EQ(sum, 108);
  ASSERT_TRUE(unary.Finish());
  unary.CountIn(sum);
  EXPECT_EQ(sum, 103);
  (void)unary.Take();
  unary.CountIn(sum);
  EXPECT_EQ(sum, 100);
}

}  // namespace
}  // namespace kvorum::rpc
