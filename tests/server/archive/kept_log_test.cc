// The part of the log that stays for an archive, and its bound.
#include "server/archive/kept_log.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/log/logging.h"

namespace kvorum::server {
namespace {

class KeptLogTest : public testing::Test {
 protected:
  KeptLogTest() { SetLogLevel(LogLevel::kError); }
};

TEST_F(KeptLogTest, EverythingStaysUntilTheArchiveIsKnown) {
  KeptLog kept(1'000);
  kept.Begin({});
  EXPECT_EQ(kept.Bound(10, 100), 0U);
  EXPECT_EQ(kept.Bound(20, 200), 0U);
  kept.Keep(15);
  EXPECT_EQ(kept.Bound(30, 300), 15U);
  EXPECT_EQ(kept.Bound(12, 300), 12U) << "no more than may go";
  kept.Keep(0);
  EXPECT_EQ(kept.Bound(40, 400), 40U) << "none is needed";
}

TEST_F(KeptLogTest, WhatIsOlderThanTheBoundGoesWithoutTheArchive) {
  KeptLog kept(1'000);
  kept.Begin({});
  kept.Keep(5);
  for (std::uint64_t index = 10; index <= 1'000; index += 10) {
    const raft::Index bound = kept.Bound(raft::Index{index}, 10 * index);
    const std::uint64_t kept_bytes = 10 * (index - bound.value());
    if (index <= 100) {
      EXPECT_EQ(bound, 5U);
    } else {
      EXPECT_LE(kept_bytes, 1'000U);
      EXPECT_GE(kept_bytes, 800U);
    }
  }
  kept.Keep(990);
  EXPECT_EQ(kept.Bound(1'010, 10'100), 990U) << "the archive has caught up";
}

TEST_F(KeptLogTest, SegmentsFromBeforeTheStartCount) {
  const std::vector<KeptLog::Segment> segments = {{.first_index = 0, .size_bytes = 600},
                                                  {.first_index = 61, .size_bytes = 600},
                                                  {.first_index = 121, .size_bytes = 600}};
  KeptLog kept(1'300);
  kept.Begin(segments);
  EXPECT_EQ(kept.Bound(130, 0), 60U) << "three are more than the bound";
  EXPECT_EQ(kept.Bound(140, 200), 120U);
  kept.Keep(125);
  EXPECT_EQ(kept.Bound(150, 200), 125U);
}

TEST_F(KeptLogTest, ALogWithoutAPlaceWithinTheBoundGoes) {
  KeptLog kept(1'000);
  kept.Begin({});
  EXPECT_EQ(kept.Bound(10, 100), 0U);
  EXPECT_EQ(kept.Bound(20, 50'000), 20U);
}

}  // namespace
}  // namespace kvorum::server
