#include "base/executor.h"

#include <gtest/gtest.h>
#include <pthread.h>

#include <future>
#include <vector>

namespace kvorum {
namespace {

TEST(ThreadExecutorTest, RunsTasksInTheOrderOfTheirPosts) {
  std::vector<int> seen;
  {
    ThreadExecutor executor("test");
    for (int i = 0; i < 1000; ++i) executor.Post([&seen, i] { seen.push_back(i); });
  }
  ASSERT_EQ(seen.size(), 1000u);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(seen[static_cast<std::size_t>(i)], i);
}

TEST(ThreadExecutorTest, RunsOneTaskAtATimeForManyPosters) {
  int unguarded = 0;
  {
    ThreadExecutor executor("test");
    std::vector<std::thread> posters;
    for (int i = 0; i < 4; ++i) {
      posters.emplace_back([&] {
        for (int n = 0; n < 500; ++n) executor.Post([&] { ++unguarded; });
      });
    }
    for (std::thread& poster : posters) poster.join();
  }
  EXPECT_EQ(unguarded, 2000);
}

TEST(ThreadExecutorTest, RunsATaskOnceItsTimeHasCome) {
  ThreadExecutor executor("test");
  std::promise<TimePoint> second;
  std::promise<TimePoint> first;
  const TimePoint begin = executor.clock().Now();
  const TimePoint late = begin + std::chrono::milliseconds(30);
  const TimePoint soon = begin + std::chrono::milliseconds(10);
  executor.PostAt(late, [&] { second.set_value(executor.clock().Now()); });
  executor.PostAt(soon, [&] { first.set_value(executor.clock().Now()); });
  EXPECT_GE(first.get_future().get(), soon);
  EXPECT_GE(second.get_future().get(), late);
}

TEST(ThreadExecutorTest, ATaskMayPostAnother) {
  std::promise<void> done;
  ThreadExecutor executor("test");
  executor.Post([&] { executor.Post([&] { done.set_value(); }); });
  done.get_future().get();
}

TEST(ThreadExecutorTest, DropsWhatWaitsForItsTimeAtTheEnd) {
  bool ran = false;
  {
    ThreadExecutor executor("test");
    executor.PostAt(executor.clock().Now() + std::chrono::hours(1), [&] { ran = true; });
  }
  EXPECT_FALSE(ran);
}

TEST(ThreadExecutorTest, DropsPostsAfterStop) {
  ThreadExecutor executor("test");
  bool before = false;
  bool after = false;
  executor.Post([&] { before = true; });
  executor.Stop();
  executor.Post([&] { after = true; });
  executor.Stop();
  EXPECT_TRUE(before);
  EXPECT_FALSE(after);
}

TEST(ThreadExecutorTest, ItsThreadIsNamedAfterItsRole) {
  ThreadExecutor executor("raft");
  std::promise<std::string> name;
  executor.Post([&] {
    char buffer[16] = {};
    pthread_getname_np(pthread_self(), buffer, sizeof(buffer));
    name.set_value(buffer);
  });
  EXPECT_EQ(name.get_future().get(), "raft");
}

TEST(ManualClockTest, MovesOnlyWhenTold) {
  ManualClock clock;
  const TimePoint begin = clock.Now();
  EXPECT_EQ(clock.Now(), begin);
  clock.Advance(std::chrono::seconds(2));
  EXPECT_EQ(clock.Now() - begin, std::chrono::seconds(2));
}

}  // namespace
}  // namespace kvorum
