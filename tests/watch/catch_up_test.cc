// The bounds of one round of catching up, exactly: who shares a scan, and where it ends.
#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "mvcc/records/key_value.h"
#include "tests/watch/watch_fixture.h"

namespace kvorum::watch {
namespace {

// More than anything here comes to.
constexpr std::size_t kMuch = std::size_t{1} << 20;

class CatchUpTest : public WatchTest {
 protected:
  explicit CatchUpTest(CatchUpLimits limits = {.join_revisions = 10,
                                               .jobs = 3,
                                               .records = 20,
                                               .bytes = kMuch,
                                               .stream_bytes = kMuch},
                       BodyLimits bodies = {})
      : WatchTest({.bodies = bodies, .catch_up = limits, .recent_bytes = 0}) {
    // Revisions 2 to 101.
    for (int i = 0; i < 100; ++i) Put("a", std::to_string(i));
    RunAll();
  }

  Client& WatchFrom(std::int64_t revision) {
    Client& client = *clients_.emplace_back(std::make_unique<Client>(hub->shard(0)));
    client.Watch("a", "", revision);
    EXPECT_EQ(client.Read().size(), 1U) << "created";
    return client;
  }
  // One scan, and what it found is with the clients.
  void OneRound() {
    while (io.RunOne()) {
    }
    ASSERT_TRUE(watch.RunOne());
    while (io.RunOne()) {
    }
  }
  // The revisions of the events that came.
  static std::vector<std::int64_t> Revisions(Client& client) {
    std::vector<std::int64_t> revisions;
    for (const SeenMessage& message : client.Read()) {
      for (const SeenEvent& event : message.events) revisions.push_back(event.mod_revision);
    }
    return revisions;
  }
  static std::vector<std::int64_t> From(std::int64_t first, std::int64_t last) {
    std::vector<std::int64_t> revisions;
    for (std::int64_t revision = first; revision <= last; ++revision) revisions.push_back(revision);
    return revisions;
  }

  std::vector<std::unique_ptr<Client>> clients_;
};

TEST_F(CatchUpTest, ARoundReadsSoManyRecordsAndNoMore) {
  Client& client = WatchFrom(30);
  OneRound();
  EXPECT_EQ(Revisions(client), From(30, 49));
  OneRound();
  EXPECT_EQ(Revisions(client), From(50, 69));
}

TEST_F(CatchUpTest, WatchersAWindowApartShareAScan) {
  Client& head = WatchFrom(50);
  Client& later = WatchFrom(60);
  Client& too_late = WatchFrom(61);
  OneRound();
  EXPECT_EQ(Revisions(head), From(50, 69));
  EXPECT_EQ(Revisions(later), From(60, 69));
  EXPECT_TRUE(Revisions(too_late).empty());
  OneRound();
  EXPECT_FALSE(Revisions(too_late).empty());
}

TEST_F(CatchUpTest, TheWindowReachesAsFarBack) {
  Client& head = WatchFrom(50);
  Client& earlier = WatchFrom(40);
  Client& too_early = WatchFrom(39);
  OneRound();
  EXPECT_EQ(Revisions(head), From(50, 59));
  EXPECT_EQ(Revisions(earlier), From(40, 59));
  EXPECT_TRUE(Revisions(too_early).empty());
  OneRound();
  EXPECT_FALSE(Revisions(too_early).empty());
}

TEST_F(CatchUpTest, ARoundServesSoManyWatchersAndNoMore) {
  for (int i = 0; i < 4; ++i) WatchFrom(90);
  OneRound();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(Revisions(*clients_[i]), From(90, 101)) << i;
  EXPECT_TRUE(Revisions(*clients_[3]).empty());
  OneRound();
  EXPECT_EQ(Revisions(*clients_[3]), From(90, 101));
}

// ---- bytes ----

// The size of each record of revisions 12 to 101.
std::size_t RecordBytes() {
  return mvcc::Encode({.key = "a",
                       .create_revision = 2,
                       .mod_revision = 50,
                       .version = 49,
                       .value = "48",
                       .lease = 0})
      .size();
}

class CatchUpBytesTest : public CatchUpTest, public testing::WithParamInterface<CatchUpLimits> {
 protected:
  CatchUpBytesTest() : CatchUpTest(GetParam()) {}
};

// The record that fills it is the last one.
TEST_P(CatchUpBytesTest, ARoundReadsSoManyAndNoMore) {
  Client& client = WatchFrom(30);
  OneRound();
  EXPECT_EQ(Revisions(client), From(30, 34));
  OneRound();
  EXPECT_EQ(Revisions(client), From(35, 39));
}

std::string BoundName(const testing::TestParamInfo<CatchUpLimits>& each) {
  constexpr std::array kNames = {"Read", "Found", "OfAStream"};
  return kNames.at(each.index);
}
INSTANTIATE_TEST_SUITE_P(Bounds, CatchUpBytesTest,
                         testing::Values(CatchUpLimits{.read_bytes = 5 * RecordBytes()},
                                         CatchUpLimits{.bytes = 5 * RecordBytes()},
                                         CatchUpLimits{.stream_bytes = 5 * RecordBytes()}),
                         BoundName);

// Two watchers far apart, on a loop that does not come to take what was read for the first.
class BusyLoop : public CatchUpTest {
 public:
  explicit BusyLoop(std::size_t untaken_bytes)
      : CatchUpTest({.join_revisions = 10,
                     .records = 20,
                     .stream_bytes = kMuch,
                     .untaken_bytes = untaken_bytes}) {
    first_ = &WatchFrom(30);
    second_ = &WatchFrom(60);
    while (io.RunOne()) {
    }
    while (watch.RunOne()) {
    }
    while (io.RunOne()) {
    }
  }
  ~BusyLoop() override { RunAll(); }
  std::size_t FirstsBytes() const { return first_->sink.unread_bytes; }
  bool SecondWasRead() const { return second_->sink.unread_bytes > 0; }

 private:
  void TestBody() override {}

  Client* first_ = nullptr;
  Client* second_ = nullptr;
};

TEST(CatchUpUntakenTest, NothingIsReadForALoopThatHasSoMuchToTake) {
  const std::size_t one_round = BusyLoop(1).FirstsBytes();
  ASSERT_GT(one_round, 20 * RecordBytes());
  EXPECT_FALSE(BusyLoop(one_round).SecondWasRead());
  EXPECT_TRUE(BusyLoop(one_round + 1).SecondWasRead());
}

// A revision of twenty deletions, for a watcher that takes parts of one.
class CatchUpPartsTest : public CatchUpTest {
 protected:
  static std::size_t DeletionBytes() {
    return mvcc::Encode({.key = "k00", .value = {}, .lease = 0}).size();
  }
  CatchUpPartsTest()
      : CatchUpTest({.bytes = kMuch, .stream_bytes = kMuch},
                    {.fragment_bytes = 5 * DeletionBytes()}) {
    for (int i = 0; i < 20; ++i) Put("k" + std::to_string(i / 10) + std::to_string(i % 10), "v");
    Delete("k", "l");
    RunAll();
  }
};

TEST_F(CatchUpPartsTest, APartEndsWithTheEventThatFillsIt) {
  Client& client = *clients_.emplace_back(std::make_unique<Client>(hub->shard(0)));
  client.Create(
      {.key = "k", .range_end = "l", .start_revision = revision(), .wanted = {.fragment = true}});
  OneRound();
  EXPECT_EQ(Revisions(client).size(), 5U);
  OneRound();
  EXPECT_EQ(Revisions(client).size(), 5U);
}

}  // namespace
}  // namespace kvorum::watch
