#include "rpc/http2/late_frames.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/rpc/http2_client.h"

namespace kvorum::rpc {
namespace {

class LateFramesTest : public testing::Test {
 protected:
  LateFramesTest() { frames_.Begin(kPreface, now_); }

  bool Headers(std::int32_t stream_id) {
    return frames_.OnHeaders(stream_id, [this](std::int32_t id) { return open_.contains(id); });
  }
  void Open(std::int32_t stream_id) {
    EXPECT_TRUE(Headers(stream_id));
    open_.insert(stream_id);
  }
  // Feeds a DATA frame for each stream; returns those that are late.
  std::vector<std::int32_t> Data(const std::vector<std::int32_t>& streams) {
    std::string bytes;
    for (const std::int32_t id : streams)
      bytes += Frame(FrameType::kData, 0, static_cast<std::uint32_t>(id), "data");
    frames_.Begin(bytes, now_);
    for (const std::int32_t id : streams)
      if (open_.contains(id)) frames_.OnData();
    std::vector<std::int32_t> late;
    if (!frames_.missed()) return late;
    frames_.VisitLate(
        bytes, [this](std::int32_t id) { return open_.contains(id); },
        [&](std::int32_t id) { late.push_back(id); });
    return late;
  }

  TimePoint now_;
  LateFrames frames_;
  std::set<std::int32_t> open_;
};

using Streams = std::vector<std::int32_t>;

TEST_F(LateFramesTest, DataOnAStreamThatIsOverIsReportedOnce) {
  Open(1);
  Open(3);
  EXPECT_EQ(Data({1, 3, 1}), Streams{});
  open_.erase(1);
  EXPECT_EQ(Data({3, 1, 3}), Streams{1});
  EXPECT_EQ(Data({1}), Streams{}) << "the client may not know yet that the stream was reset";
}

TEST_F(LateFramesTest, DataAfterAResetOfOursIsIgnored) {
  Open(1);
  open_.erase(1);
  frames_.OnReset(1);
  EXPECT_EQ(Data({1, 1}), Streams{});
}

// By then the client knows, and goes on sending all the same.
TEST_F(LateFramesTest, DataLongAfterAResetIsReportedAgain) {
  Open(1);
  open_.erase(1);
  frames_.OnReset(1);
  now_ = now_ + LateFrames::kExcused - std::chrono::seconds(1);
  EXPECT_EQ(Data({1}), Streams{});
  now_ = now_ + std::chrono::seconds(1);
  EXPECT_EQ(Data({1, 1}), Streams{1});
  EXPECT_EQ(Data({1}), Streams{});
  now_ = now_ + LateFrames::kExcused;
  EXPECT_EQ(Data({1}), Streams{1});
  EXPECT_TRUE(Headers(1)) << "trailers, as late";
}

TEST_F(LateFramesTest, StreamsThatWereNeverOpenAreNotLate) {
  Open(3);
  EXPECT_EQ(Data({5, 2}), Streams{});
}

TEST_F(LateFramesTest, TheIdOfANewStreamMustRise) {
  Open(5);
  EXPECT_FALSE(Headers(3));
  EXPECT_TRUE(Headers(5)) << "trailers";
  open_.erase(5);
  EXPECT_FALSE(Headers(5));
  EXPECT_TRUE(Headers(7));
}

TEST_F(LateFramesTest, TheOldestResetsAreForgotten) {
  constexpr std::int32_t kRemembered = 128;
  for (std::int32_t id = 1; id < 2 * kRemembered + 2; id += 2) {
    EXPECT_TRUE(Headers(id));
    frames_.OnReset(id);
  }
  EXPECT_EQ(Data({3}), Streams{});
  EXPECT_EQ(Data({1}), Streams{1});
}

}  // namespace
}  // namespace kvorum::rpc
