// A member of production's executors: lone puts, which are applied by the thread that learns of
// their commit, beside bursts, which the apply thread takes.
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <string>
#include <thread>
#include <vector>

#include "tests/server/replica/threaded_member.h"

namespace kvorum::server {
namespace {

class MemberThreadsTest : public testing::Test {
 protected:
  ThreadedMember member_;
};

TEST_F(MemberThreadsTest, LonePutsAndBurstsAreAllAppliedAndAnswered) {
  constexpr int kClients = 3;
  constexpr int kRounds = 100;
  std::atomic<int> applied = 0;
  std::vector<std::thread> clients;
  for (int client = 0; client < kClients; ++client) {
    clients.emplace_back([&, client] {
      const std::string key = "key " + std::to_string(client);
      for (int round = 0; round < kRounds; ++round)
        applied += member_.Put(key, round % 10 == client ? 20 : 1).get();
    });
  }
  // Reads wait for what is applied, on whichever thread.
  for (int i = 0; i < 100; ++i) {
    std::promise<bool> confirmed;
    member_.member().replica().ReadIndex(
        [&](const Result<void>& result) { confirmed.set_value(result.has_value()); });
    EXPECT_TRUE(confirmed.get_future().get());
  }
  for (std::thread& client : clients) client.join();
  constexpr int kPuts = kClients * (kRounds / 10) * (9 + 20);
  EXPECT_EQ(applied, kPuts);
  EXPECT_EQ(member_.member().store().readable_revision(), 1 + kPuts);
}

TEST_F(MemberThreadsTest, AStopMeetsALonePutAtAnyPoint) {
  std::vector<std::future<int>> puts;
  for (int i = 0; i < 50; ++i) puts.push_back(member_.Put("key", 1));
  member_.Stop();
  for (std::future<int>& put : puts) put.get();  // each is answered, in one way or the other
}

}  // namespace
}  // namespace kvorum::server
