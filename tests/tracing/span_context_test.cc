// A parent in a request's metadata, by the W3C's rules and by what etcd makes of each breach.
#include "server/tracing/span_context.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/damage.h"

namespace kvorum::server::tracing {
namespace {

const std::string kTrace = "0af7651916cd43dd8448eb211c80319c";
const std::string kSpan = "b7ad6b7169203331";

TEST(SpanContextTest, ReadsAParent) {
  const auto parent = ParseParent("00-" + kTrace + "-" + kSpan + "-01", "a=1");
  ASSERT_TRUE(parent.has_value());
  EXPECT_EQ(parent->trace_id.front(), 0x0a);
  EXPECT_EQ(parent->trace_id.back(), 0x9c);
  EXPECT_EQ(parent->span_id.front(), 0xb7);
  EXPECT_EQ(parent->span_id.back(), 0x31);
  EXPECT_TRUE(parent->is_sampled());
  EXPECT_EQ(parent->state, "a=1");
}

TEST(SpanContextTest, KeepsTheKnownFlagsOnly) {
  const auto flags = [](const std::string& version, const std::string& flags) {
    const auto parent = ParseParent(version + "-" + kTrace + "-" + kSpan + "-" + flags, "");
    return parent.has_value() ? parent->flags : -1;
  };
  EXPECT_EQ(flags("00", "00"), 0);
  EXPECT_EQ(flags("00", "03"), 3);
  EXPECT_EQ(flags("00", "04"), -1);
  EXPECT_EQ(flags("01", "ff"), 3);
}

TEST(SpanContextTest, LaterVersionsMayAddParts) {
  const std::string ids = kTrace + "-" + kSpan + "-01";
  EXPECT_TRUE(ParseParent("cc-" + ids + "-what-follows", "").has_value());
  EXPECT_FALSE(ParseParent("00-" + ids + "-what-follows", "").has_value());
  EXPECT_FALSE(ParseParent("ff-" + ids, "").has_value());
}

TEST(SpanContextTest, AnythingElseIsNoParent) {
  const std::vector<std::string> texts{"",
                                       "00",
                                       "00-" + kTrace,
                                       "00-" + kTrace + "-" + kSpan,
                                       "0-" + kTrace + "-" + kSpan + "-01",
                                       "00-" + kTrace + "-" + kSpan + "-1",
                                       "00-" + kTrace + "0-" + kSpan + "-01",
                                       "00-" + kTrace + "-" + kSpan.substr(1) + "-01",
                                       "00-0AF7651916CD43DD8448EB211C80319C-" + kSpan + "-01",
                                       "00-" + std::string(32, '0') + "-" + kSpan + "-01",
                                       "00-" + kTrace + "-" + std::string(16, '0') + "-01",
                                       "00-" + kTrace.substr(1) + "g-" + kSpan + "-01",
                                       " 00-" + kTrace + "-" + kSpan + "-01"};
  for (const std::string& text : texts) EXPECT_FALSE(ParseParent(text, "").has_value()) << text;
}

TEST(SpanContextTest, EveryCutAndEveryFlippedByteIsSurvived) {
  const std::string whole = "00-" + kTrace + "-" + kSpan + "-01";
  const auto is_refused = [](std::string_view text, auto...) {
    EXPECT_FALSE(ParseParent(text, "").has_value());
  };
  ForEachCut(whole, is_refused);
  ForEachFlip(whole, is_refused, std::array{0x80});
}

TEST(SpanContextTest, StateLosesTheSpaceAroundItsMembers) {
  EXPECT_EQ(ParseTraceState("a=1"), "a=1");
  EXPECT_EQ(ParseTraceState(" a=1 ,\tb=2,,c=x y"), "a=1,b=2,c=x y");
  EXPECT_EQ(ParseTraceState("tenant@system=1"), "tenant@system=1");
}

TEST(SpanContextTest, OneBadMemberEmptiesTheState) {
  std::string many;
  for (int i = 0; i < 33; ++i) many += "k" + std::to_string(i) + "=v,";
  const std::vector<std::string> lists{"a",
                                       "=1",
                                       "a=",
                                       "A=1",
                                       "1a=1",
                                       "a=1,a=2",
                                       many,
                                       "a=1=2",
                                       "a\xff=1",
                                       "a=\x7f",
                                       "@b=1",
                                       "a@=1",
                                       " =1",
                                       "a =1",
                                       "a=1,b=\x01",
                                       std::string(257, 'a') + "=1",
                                       "a=" + std::string(257, 'v')};
  for (const std::string& list : lists) EXPECT_EQ(ParseTraceState(list), "") << list;
}

TEST(SpanContextTest, ABadStateDoesNotHurtTheParent) {
  const auto parent = ParseParent("00-" + kTrace + "-" + kSpan + "-01", "bad");
  ASSERT_TRUE(parent.has_value());
  EXPECT_EQ(parent->state, "");
}

}  // namespace
}  // namespace kvorum::server::tracing
