// The bounds of one round of catching up, exactly: who shares a scan, and where it ends.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tests/watch/watch_fixture.h"

namespace kvorum::watch {
namespace {

class CatchUpTest : public WatchTest {
 protected:
  CatchUpTest()
      : WatchTest({.catch_up = {.join_revisions = 10,
                                .jobs = 3,
                                .records = 20,
                                .bytes = std::size_t{1} << 20,
                                .stream_bytes = std::size_t{1} << 20},
                   .recent_bytes = 0}) {
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

}  // namespace
}  // namespace kvorum::watch
